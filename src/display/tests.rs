//! The rules of display, on bytes as the clients write them.

mod samples;
