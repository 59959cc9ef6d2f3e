//! Accepts connections, wraps every request, and watches both.

pub(super) mod connection;
pub(super) mod edge;
pub mod in_flight;
pub mod listener;
pub mod measures;
pub(super) mod origins;
pub mod tls;
pub(super) mod turned_away;
pub(super) mod watch;
