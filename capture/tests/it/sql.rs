//! Shapes and facts over statements that others collected.

use std::collections::HashMap;

use splitproof_capture::sql::{self, Facts};

use crate::corpus::corpus;

/// Every statement of the corpus; a file that is not UTF-8 is read as well as it goes. `None` where there is no corpus.
pub fn statements() -> Option<Vec<String>> {
    let mut statements = Vec::new();
    let mut folders = vec![corpus(1)?.join("statements")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the corpus is readable") {
            let path = entry.expect("the corpus is readable").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = String::from_utf8_lossy(&std::fs::read(&path).expect("the corpus is readable")).into_owned();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("sql") => statements.extend(text.split_inclusive(';').map(str::to_owned)),
                Some("txt") => statements.extend(text.lines().map(|line| line.replace("\\n", "\n"))),
                _ => {}
            }
        }
    }
    assert!(!statements.is_empty(), "the corpus holds statements");
    Some(statements)
}

/// What must not differ between two statements of one shape.
fn routing(facts: &Facts) -> Facts {
    let mut facts = facts.clone();
    // The parser quotes the text near an error.
    facts.error = facts.error.map(|_| String::new());
    facts
}

#[test]
fn statements_of_one_shape_have_the_same_facts() {
    let Some(statements) = statements() else { return };
    let mut known: HashMap<u64, (String, Facts)> = HashMap::new();
    let mut parsed = 0;
    for statement in &statements {
        let facts = sql::postgresql::facts(statement);
        parsed += usize::from(facts.error.is_none());
        let (first, expected) =
            known.entry(sql::shape_id(statement)).or_insert_with(|| (statement.clone(), facts.clone()));
        if expected.error.is_none() && facts.error.is_none() {
            assert_eq!(routing(&facts), routing(expected), "{statement}\nhas the shape of\n{first}");
        }
    }
    // The corpus holds MySQL statements and deliberate mistakes too.
    println!("{} statements, {parsed} parsed, {} shapes", statements.len(), known.len());
    assert!(parsed * 2 > statements.len(), "only {parsed} of {} statements were parsed", statements.len());
}

#[test]
fn masking_and_cutting_never_fail() {
    let Some(statements) = statements() else { return };
    for statement in statements.iter().filter(|statement| statement.len() < 400) {
        let shape = sql::shape_id(statement);
        assert_eq!(sql::shape_id(&sql::mask_password(statement)), shape, "{statement}");
        for (end, _) in statement.char_indices() {
            sql::normalize(&statement[..end]);
            sql::normalize(&statement[end..]);
            sql::mask_password(&statement[..end]);
        }
    }
}
