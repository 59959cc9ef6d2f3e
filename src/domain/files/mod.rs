//! Files: a view over the items of one namespace, exactly as deepagents' `StoreBackend` keeps them: the key is the path, the value holds
//! the content. What the two languages of deepagents do differently is [`dialect`].

pub mod dialect;
pub mod head;
pub mod storage;
pub mod value;
