use std::time::Duration;

use crate::host;

/// What a handler returns: `Ok` acks the message.
pub type Result = std::result::Result<(), Outcome>;

/// What becomes of a message that is not acked.
///
/// Every other error becomes one by `?`: the message is delivered again after the subscription's backoff, with the
/// error's text as the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub(crate) code: i32,
    pub(crate) reason: String,
    pub(crate) delay: Option<Duration>,
}

impl Outcome {
    fn new(code: i32, why: impl Into<String>, delay: Option<Duration>) -> Self {
        Outcome { code, reason: why.into(), delay }
    }

    /// Delivers the message again at once, on its next attempt.
    pub fn retry(why: impl Into<String>) -> Self {
        Self::new(1, why, None)
    }

    /// Delivers the message again after the subscription's backoff, on its next attempt.
    pub fn backoff(why: impl Into<String>) -> Self {
        Self::new(2, why, None)
    }

    /// Delivers the message again after the delay, on its next attempt.
    pub fn retry_after(delay: Duration, why: impl Into<String>) -> Self {
        Self::new(2, why, Some(delay))
    }

    /// Finishes the message as an ack does, counted and logged apart.
    pub fn drop(why: impl Into<String>) -> Self {
        Self::new(3, why, None)
    }

    /// Moves the message to the subscription's dead letters.
    pub fn dead_letter(why: impl Into<String>) -> Self {
        Self::new(4, why, None)
    }

    /// Delivers the message again after the delay without spending the attempt: for messages that came too early.
    pub fn snooze(delay: Duration, why: impl Into<String>) -> Self {
        Self::new(5, why, Some(delay))
    }

    /// Why the message came to this.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl<E: std::error::Error> From<E> for Outcome {
    fn from(e: E) -> Self {
        Outcome::backoff(e.to_string())
    }
}

/// Tells the host what a handler has returned, about the current message, and gives the outcome's code.
pub(crate) fn settle(result: &Result) -> i32 {
    let outcome = match result {
        Ok(()) => return 0,
        Err(outcome) => outcome,
    };
    if !outcome.reason.is_empty() {
        host::reason(&outcome.reason);
    }
    if let Some(delay) = outcome.delay {
        // Rounded up, so that no message comes back before its time.
        let ms = (delay.as_nanos() + 999_999) / 1_000_000;
        host::retry_after(i64::try_from(ms).unwrap_or(i64::MAX));
    }
    outcome.code
}
