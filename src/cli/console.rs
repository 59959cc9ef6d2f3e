//! Implements `threadkeep console`: a link that logs in to the console with a token. The token stands in the fragment, which browsers send
//! to nobody; the page takes it from there and erases it.

use serde_json::json;

use crate::config::Console;
use crate::domain::Result;
use crate::domain::caller::check_tenant;
use crate::domain::time::rfc3339;
use crate::domain::tokens::grants::{Actions, Scoped};
use crate::domain::tokens::token::MintRequest;

use super::form::{Answer, Form};
use super::opening::open_existing;
use super::token::mint_by_operator;

pub(super) async fn run(command: Console, form: Form) -> Result<()> {
    let Console { tenant, read_only, ttl, url, database } = command;
    check_tenant(&tenant)?;
    let storage = open_existing(&database, None).await?;
    let actions = if read_only { Actions::READ } else { Actions::ALL };
    let grants = Scoped { tenant: actions, ..Scoped::default() };
    let request =
        MintRequest { grants: Some(grants), ttl_seconds: Some(ttl), ..MintRequest::default() };
    let minted = mint_by_operator(storage.as_ref(), &tenant, request).await;
    storage.close().await;
    let minted = minted?;
    let does = if read_only { "reads" } else { "reads and changes" };
    let (token_id, end) = (minted.token.token_id, rfc3339(minted.token.expires_at));
    let link = format!("{url}/console/#/login?token={}", minted.text);
    if form == Form::Text {
        eprintln!("whoever opens this link {does} tenant {tenant}; {token_id}, valid until {end}");
    }
    let value = json!({
        "url": link, "tenant": tenant, "token_id": token_id.to_string(), "expires_at": end, "read_only": read_only,
    });
    form.print(&Answer::new(link + "\n", &value)?)
}
