//! The terminal itself: taking it over, giving it back whatever happens, and noticing that it is gone.
//!
//! The order of giving back matters: what the screen showed goes before raw mode does, so that nothing of ours
//! is left on the shell's screen.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::event::{DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute, queue};
use ratatui::backend::{Backend, ClearType, CrosstermBackend};
use ratatui::buffer::Buffer;

use super::sixteen::Sixteen;
use super::theme::Depth;

/// Whether it has 16 colours at most.
static FEW: AtomicBool = AtomicBool::new(false);

/// Whether its title is ours to set, and whether it is to tell who looks at it.
static TITLE: AtomicBool = AtomicBool::new(false);
static FOCUS: AtomicBool = AtomicBool::new(false);

/// Keeps the terminal's title for later.
const KEEP_TITLE: &[u8] = b"\x1b[22;0t";
/// Gives the kept title back. A terminal that keeps none is left with no title instead of an old one of ours.
const GIVE_TITLE: &[u8] = b"\x1b]0;\x07\x1b[23;0t";

/// Whether the terminal is ours at the moment.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// A backend, and the picture that it shows.
pub struct Screen<B: Backend> {
    backend: B,
    shown: Buffer,
}

impl<B: Backend> Screen<B> {
    /// A screen of which nothing is known yet.
    pub fn new(backend: B) -> Self {
        Self { backend, shown: Buffer::default() }
    }

    /// Shows a picture: writes the cells that have changed, all at once, and nothing where none has.
    pub fn show(&mut self, picture: Buffer) -> Result<(), B::Error> {
        if picture.area.is_empty() {
            return Ok(());
        }
        if picture.area != self.shown.area {
            self.backend.clear_region(ClearType::All)?;
            self.shown = Buffer::empty(picture.area);
        }
        let mut changes = self.shown.diff_iter(&picture).peekable();
        if changes.peek().is_some() {
            self.backend.draw(changes)?;
            self.backend.hide_cursor()?;
            self.backend.flush()?;
        }
        self.shown = picture;
        Ok(())
    }

    /// Forgets what is shown: someone else has written to the terminal.
    pub fn forget(&mut self) {
        self.shown = Buffer::default();
    }

    /// The backend.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The backend, to write what is no part of the picture.
    pub fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }

    /// Sends out what waits to be written.
    pub fn flush(&mut self) -> Result<(), B::Error> {
        self.backend.flush()
    }
}

/// Columns and rows of the terminal on stdout; (0, 0) where it does not tell.
pub fn size() -> (u16, u16) {
    rustix::termios::tcgetwinsize(io::stdout()).map_or((0, 0), |size| (size.ws_col, size.ws_row))
}

/// How many colours may be written, whatever the environment says: that was weighed already.
pub fn allow(depth: Depth) {
    crossterm::style::force_color_output(depth != Depth::None);
    FEW.store(depth <= Depth::Sixteen, Ordering::SeqCst);
}

/// Whether the terminal's title is to be kept and given back, and whether the terminal is to tell if somebody looks
/// at it.
pub fn reach(title: bool, focus: bool) {
    TITLE.store(title, Ordering::SeqCst);
    FOCUS.store(focus, Ordering::SeqCst);
}

/// Takes the terminal over: raw mode, alternate screen, no cursor. Asks it nothing.
pub fn enter() -> io::Result<Screen<CrosstermBackend<Sixteen<BufWriter<Stdout>>>>> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // A panic in a task would otherwise leave the rest drawing over its message.
            restore();
            report(info);
            std::process::exit(101);
        }));
    });
    take()?;
    // One write a frame instead of one a cell run.
    let out = BufWriter::with_capacity(64 * 1024, io::stdout());
    let out = Sixteen::new(out, FEW.load(Ordering::SeqCst));
    Ok(Screen::new(CrosstermBackend::new(out)))
}

/// Takes the terminal again after [`restore`].
pub fn take() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let mut out = io::stdout().lock();
    if TITLE.load(Ordering::SeqCst) {
        out.write_all(KEEP_TITLE)?;
    }
    if FOCUS.load(Ordering::SeqCst) {
        queue!(out, EnableFocusChange)?;
    }
    // What is pasted must not act as if it were typed.
    execute!(out, EnterAlternateScreen, cursor::Hide, EnableBracketedPaste)
}

/// Gives the terminal back. Does nothing where it is not ours.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // The terminal may be gone; there is nobody left to tell.
        let mut out = io::stdout();
        let _ = queue!(out, DisableBracketedPaste);
        if FOCUS.load(Ordering::SeqCst) {
            let _ = queue!(out, DisableFocusChange);
        }
        if TITLE.load(Ordering::SeqCst) {
            let _ = out.write_all(GIVE_TITLE);
        }
        let _ = execute!(out, LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
        let _ = out.flush();
    }
}

/// Whether a shell with job control would notice that we stop, and could bring us back.
pub fn can_suspend() -> bool {
    match (rustix::process::getpgid(None), rustix::process::getsid(None)) {
        (Ok(group), Ok(session)) => group != session,
        _ => false,
    }
}

/// Gives the terminal back, stops the job, and takes the terminal again when it is continued.
pub fn suspend() -> io::Result<()> {
    restore();
    // All of the job stops, as the terminal's own Ctrl-Z does it: a wrapper (sudo, cargo) must stop with us.
    rustix::process::kill_current_process_group(rustix::process::Signal::STOP)?;
    take()
}

/// Takes the terminal again after a stop that left no time to give it back, where the shell has set its own modes
/// meanwhile.
pub fn retake() -> io::Result<()> {
    use rustix::termios::{LocalModes, tcgetattr};
    let modes = tcgetattr(io::stdin())?.local_modes;
    if TAKEN.load(Ordering::SeqCst) && modes.intersects(LocalModes::ICANON | LocalModes::ECHO) {
        restore();
        take()?;
    }
    Ok(())
}

/// Ends the process when the terminal is gone, even if SIGHUP never comes.
///
/// The event reader spins for ever on a closed terminal, and takes the loop with it; so a thread of its own
/// waits for the hang-up, at no cost, and leaves after the loop has had its chance to.
pub fn watch_for_hangup(gone: impl FnOnce() + Send + 'static) {
    use rustix::event::{PollFd, PollFlags, poll};
    std::thread::spawn(move || {
        let out = io::stdout();
        loop {
            let mut fds = [PollFd::new(&out, PollFlags::empty())];
            match poll(&mut fds, None) {
                Ok(_) if !fds[0].revents().is_empty() => break,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
        gone();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        std::process::exit(129);
    });
}
