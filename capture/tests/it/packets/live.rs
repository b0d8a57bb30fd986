//! A live interface: the loopback of this machine.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use splitproof_capture::packets::{Control, Error, Limits, Live, PortOption, Reason, Source};
use splitproof_capture::trace::Engine;

use super::wire::assembler;

#[test]
fn an_interface_that_does_not_exist_is_answered_with_those_that_do() {
    let (mut assembler, _) = assembler(Default::default(), Default::default());
    let source = Source::Live(Live::new("nowhere0"));
    let error = source.run(&mut assembler, &mut Vec::new(), Control::default()).expect_err("no such interface");
    let text = error.to_string();
    assert!(text.contains("nowhere0") && (text.contains("lo") || text.contains("root")), "{text}");
}

#[test]
fn what_passes_the_loopback_is_heard_until_the_stop() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let ports = [PortOption { port: address.port(), engine: Engine::Postgresql }].into();
    let (mut assembler, heard) = assembler(ports, Limits::default());
    let stop = AtomicBool::new(false);
    let talk = || {
        // until the capture has begun, what is said goes unheard: so say it until it is over
        while !stop.load(Ordering::Relaxed) {
            let mut client = TcpStream::connect(address).expect("listening");
            let (mut server, _) = listener.accept().expect("a client");
            client.write_all(b"ask").expect("open");
            let mut buffer = [0; 3];
            server.read_exact(&mut buffer).expect("open");
            server.write_all(b"answer").expect("open");
            client.read_exact(&mut [0; 6]).expect("open");
            drop(client);
            thread::sleep(Duration::from_millis(20));
        }
    };
    let ended = thread::scope(|scope| {
        scope.spawn(talk);
        let control = Control { duration: Some(Duration::from_secs(1)), ..Control::default() };
        let ended = Source::Live(Live::new("lo")).run(&mut assembler, &mut Vec::new(), control);
        stop.store(true, Ordering::Relaxed);
        ended
    });
    match ended {
        Err(Error::Interface { what, .. }) if what.contains("ermi") => {
            crate::skipped(1, &format!("no right to capture packets: {what}"));
        }
        ended => {
            assert_eq!(ended.expect("captures").reason, Reason::TimeUp);
            let text = heard.text();
            assert!(text.contains("> ask\n") && text.contains("< answer\n") && text.contains("close Client"), "{text}");
            assert!(assembler.statistics().sessions > 5, "{text}");
        }
    }
}
