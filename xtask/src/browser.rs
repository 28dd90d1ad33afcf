//! The browsers that tests run in, and the programs that drive them.

use std::path::PathBuf;

use crate::process::{ask, command, find};

/// Chromium or Chrome, whichever is on the `PATH`.
pub fn chrome() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .find_map(|name| find(name))
}

/// The driver of [`chrome`], when it is of the same major version (others refuse to work).
pub fn chromedriver() -> Option<PathBuf> {
    let driver = find("chromedriver")?;
    let wanted = major(&ask(&mut command(chrome()?, &["--version"]))?)?;
    let found = major(&ask(&mut command(&driver, &["--version"]))?)?;
    (wanted == found).then_some(driver)
}

/// Firefox.
pub fn firefox() -> Option<PathBuf> {
    ["firefox-esr", "firefox"]
        .iter()
        .find_map(|name| find(name))
}

/// The first number in "Chromium 156.0.8078.114 built on Debian …".
fn major(version: &str) -> Option<u32> {
    version.split_whitespace().find_map(|word| {
        word.split_once('.')
            .and_then(|(first, _)| first.parse().ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn major_version_is_the_first_number_with_a_dot() {
        assert_eq!(
            major("Chromium 156.0.8078.114 built on Debian GNU/Linux 12"),
            Some(156)
        );
        assert_eq!(major("ChromeDriver 156.0.8078.114 (0a1b2c)"), Some(156));
        assert_eq!(major("no version"), None);
    }
}
