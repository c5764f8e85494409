//! Every way out: signals, a panic, a terminal that goes away. The terminal is always given back, or the end is
//! quick and quiet where there is none any more.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{GIVEN_BACK, PRICKLE, Stage, assert_given_back, assert_modes_of_before, quit, quit_told};
use crate::pty::Terminal;

#[test]
fn signals_end_it_with_their_number_and_give_the_terminal_back() {
    let (stage, _) = Stage::with_claude();
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let mut watch = stage.terminal(&["/bin/sh", "-c", "exec \"$0\" watch", PRICKLE], &[], 80, 24);
        watch.wait_for("Writing the hero copy");
        assert_ne!(format!("{:?}", watch.modes()), format!("{:?}", watch.first_modes()), "raw mode");
        kill_process(Pid::from_raw(i32::try_from(watch.id()).unwrap()).unwrap(), signal).unwrap();
        let ended = watch.wait_exit();
        assert_eq!((ended.exit_code(), ended.signal()), (code, None), "{signal:?}");
        assert!(watch.raw_text().ends_with(GIVEN_BACK), "{:?}", super::tail(&watch));
        assert_given_back(&watch);
        assert_modes_of_before(&watch);
    }
}

#[test]
fn case_a16_a_panic_gives_the_terminal_back_and_can_be_read() {
    let (stage, _) = Stage::with_claude();
    for place in ["task", "draw"] {
        let mut watch = stage.terminal(&[PRICKLE, "watch"], &[("PRICKLE_DEBUG_PANIC", place)], 80, 24);
        let ended = watch.wait_exit();
        assert_eq!((ended.exit_code(), ended.signal()), (101, None), "{}", watch.text());
        assert_given_back(&watch);
        assert_modes_of_before(&watch);
        let raw = watch.raw_text();
        let (given_back, said) = (raw.rfind(GIVEN_BACK).unwrap(), raw.find("PRICKLE_DEBUG_PANIC").unwrap());
        assert!(given_back < said, "said where it is lost with the screen: {raw:?}");
        assert_eq!(raw.matches("panicked at").count(), 1);
        assert!(raw[said..].contains("\r\n"), "the line is ended as a terminal wants it");
        assert!(watch.text().contains("asked to by PRICKLE_DEBUG_PANIC"), "{}", watch.text());
    }
}

#[test]
fn case_a16_a_theme_that_is_not_there_costs_only_a_sentence() {
    let (stage, _) = Stage::with_claude();
    let mut watch = stage.terminal(&[PRICKLE, "watch"], &[("PRICKLE_THEME", "non\u{1b}[2Jsense")], 100, 24);
    watch.wait_for_all(&["Writing the hero copy", "there is no theme non·sense, only terminal, dark, light"]);
    watch.send("j");
    watch.wait_without("there is no theme");
    quit_told(&mut watch, "there is no theme non·sense, only terminal, dark, light");
}

/// Answers of things that are no room.
const GARBAGE: [&[u8]; 6] = [
    b"\x1b]0;owned\x07\x00\xff\xfe garbage \r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<h1>Hello</h1",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: bad\r\n\r\n\x81\x05hello",
    b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 22\r\n\r\n\x1b[2J\x1b]52;c;aGk=\x07 oh no",
    b"SSH-2.0-OpenSSH_9.9\r\n",
    b"",
];

#[test]
fn case_a16_a_server_that_answers_garbage_is_told_in_words() {
    let (stage, _) = Stage::with_claude();
    for answer in GARBAGE {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut request = [0; 4096];
                let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
                let _ = stream.read(&mut request);
                let _ = stream.write_all(answer);
            }
        });
        let mut watch = stage.terminal(&[PRICKLE, "watch"], &[("PRICKLE_SERVER", &server)], 120, 32);
        watch.wait_until("offline, in words", |watch| {
            watch.rows()[0].starts_with(" website-v2   offline ")
                && watch.text().contains(" does not answer: ")
        });
        // It keeps on trying, and is still there for whoever asks.
        watch.send("r?");
        watch.wait_for("Keys in the Room");
        watch.send("?");
        watch.wait_without("Keys in the Room");
        let text = watch.text();
        for word in ["Error", "tungstenite", "reqwest", "hyper", "owned", "aGk"] {
            assert!(!text.contains(word), "{word} in\n{text}");
        }
        quit(&mut watch);
        super::foreign::assert_only_ours(&watch);
    }
}

/// Processor time that the process has used (the kernel counts it in hundredths of a second), alive or ended but not yet reaped, and whether it has ended.
#[cfg(target_os = "linux")]
fn used(id: u32) -> (Duration, bool) {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 2..].split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    (Duration::from_millis(10 * ticks), fields[0] == "Z")
}

/// Closes the terminal, and holds the program's end against the clock and the processor's.
fn assert_ends_without(mut watch: Terminal) {
    watch.wait_for("Writing the hero copy");
    let id = watch.id();
    #[cfg(target_os = "linux")]
    let before = used(id).0;
    watch.close();
    let closed = Instant::now();
    #[cfg(target_os = "linux")]
    {
        watch.wait_until("its end", |_| used(id).1);
        let took = closed.elapsed();
        let used = used(id).0.saturating_sub(before);
        assert!(used < Duration::from_millis(500), "{used:?} of a processor");
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
    let ended = watch.wait_exit();
    assert!(closed.elapsed() < Duration::from_secs(2), "{:?}", closed.elapsed());
    assert_eq!((ended.exit_code(), ended.signal()), (129, None));
}

#[test]
fn case_a22_ends_with_its_terminal() {
    let (stage, _) = Stage::with_claude();
    assert_ends_without(stage.watch(80, 24));
}

#[test]
fn case_a22_ends_with_its_terminal_where_hang_ups_are_ignored() {
    let (stage, _) = Stage::with_claude();
    let ignoring = ["/bin/sh", "-c", "trap '' HUP; exec \"$0\" watch", PRICKLE];
    assert_ends_without(stage.terminal(&ignoring, &[], 80, 24));
}

/// Where the terminal controls nobody, its end sends no signal at all.
#[test]
fn case_a22_ends_with_its_terminal_where_no_signal_comes() {
    let (stage, _) = Stage::with_claude();
    let environment = stage.environment();
    let environment: Vec<(&str, &str)> = environment.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_ends_without(Stage::uncontrolled(&[PRICKLE, "watch"], &environment));
}
