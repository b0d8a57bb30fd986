//! Opens the control connections and checks that the pair is what `pair.toml` says.

use futures::future::try_join_all;

use super::{Control, ControlError, Identity};
use crate::pair::{Pair, Passwords, Role};

/// Connects to every node, in the order of `pair.toml`, and checks roles and that the nodes are of one system.
///
/// # Errors
/// The first node that cannot be reached or is not what it should be.
pub async fn connect(pair: &Pair, passwords: &Passwords) -> Result<Vec<(Control, Identity)>, ControlError> {
    let nodes = try_join_all(pair.nodes.iter().map(|node| async {
        let control = Control::open(node, passwords).await?;
        let identity = control.identity().await?;
        Ok((control, identity))
    }))
    .await?;
    check_roles(&nodes)?;
    check_system(&nodes)?;
    Ok(nodes)
}

fn check_roles(nodes: &[(Control, Identity)]) -> Result<(), ControlError> {
    for (control, identity) in nodes {
        let node = control.node();
        if identity.role != node.role {
            return Err(ControlError::Role {
                node: node.name.clone(),
                url: node.url.to_string(),
                expected: node.role,
                found: identity.role,
            });
        }
    }
    Ok(())
}

fn check_system(nodes: &[(Control, Identity)]) -> Result<(), ControlError> {
    let primary = nodes.iter().find(|(control, _)| control.node().role == Role::Primary);
    let Some((primary, expected)) = primary else { return Ok(()) };
    match nodes.iter().find(|(_, identity)| identity.system != expected.system) {
        None => Ok(()),
        Some((control, identity)) => Err(ControlError::System {
            node: control.node().name.clone(),
            url: control.node().url.to_string(),
            found: identity.system,
            primary: primary.node().name.clone(),
            expected: expected.system,
        }),
    }
}
