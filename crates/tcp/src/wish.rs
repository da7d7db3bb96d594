//! What an application asks of its socket, as a change of the host's profile.

use std::sync::Arc;

use rexmit_stack::{SettingError, SocketSpec, SocketWish, read};

use crate::Profile;
use crate::profile::NagleRule;

/// The profile of a socket that is asked for this, and the keys of the transfer that the model has nothing for.
///
/// # Errors
/// A congestion control that it does not know, or that does not go with the rest of the profile.
pub(crate) fn with_wish(
    profile: &Arc<Profile>,
    wish: &SocketWish,
) -> Result<(Arc<Profile>, Vec<String>), SettingError> {
    let mut changed = Arc::clone(profile);
    let own = Arc::make_mut(&mut changed);
    let mut rest = SocketWish { congestion: None, socket: wish.socket.clone() };
    let SocketSpec { nagle, send_buffer, receive_buffer, pacing_rate, .. } = &mut rest.socket;
    if let Some(name) = &wish.congestion {
        own.congestion.algorithm =
            read(name.as_str().into()).map_err(|e| SettingError::new("congestion", e.message))?;
    }
    match nagle.take() {
        Some(false) => own.output.nagle = NagleRule::Off,
        Some(true) if own.output.nagle == NagleRule::Off => own.output.nagle = NagleRule::On,
        _ => {}
    }
    if own.can_pace() && pacing_rate.is_some() {
        own.output.pacing_rate = pacing_rate.take();
    }
    // Linux counts the memory of packets in its buffers, which a profile with `window.tuning` has as windows.
    if own.window.tuning.is_none() {
        if let Some(bytes) = send_buffer.take() {
            (own.buffers.send, own.buffers.send_growth) = (bytes, None);
        }
        if let Some(bytes) = receive_buffer.take() {
            (own.buffers.receive, own.buffers.receive_growth) = (bytes, None);
        }
    }
    own.check().map_err(|(key, text)| {
        SettingError::new(
            if wish.congestion.is_some() { "congestion" } else { "socket" },
            format!("{key}: {text}"),
        )
    })?;
    Ok((changed, rest.keys().collect()))
}
