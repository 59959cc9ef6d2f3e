//! Counts the bytes that each tenant and each credential holds, and in which bodies. Decides whose share is full, and which body ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::{Body, Sizes, Turn};
use crate::domain::scheduling::pace::Pace;

#[derive(Default)]
pub(super) struct Book {
    pub(super) bytes: u64,
    pub(super) tenants: HashMap<String, Tenant>,
}

#[derive(Default)]
pub(super) struct Tenant {
    pub(super) bytes: u64,
    pub(super) credentials: HashMap<String, Credential>,
}

#[derive(Default)]
pub(super) struct Credential {
    pub(super) bytes: u64,
    pub(super) bodies: Vec<Arc<Body>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    All,
    Tenant,
    Credential,
}

impl Book {
    pub(super) fn add(&mut self, body: &Arc<Body>, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let (tenant, credential) = (body.holder.tenant(), body.holder.credential());
        if !self.tenants.contains_key(tenant) {
            self.tenants.insert(tenant.to_owned(), Tenant::default());
        }
        let tenant = self.tenants.get_mut(tenant).expect("it was just put there");
        if !tenant.credentials.contains_key(credential) {
            tenant.credentials.insert(credential.to_owned(), Credential::default());
        }
        let credential = tenant.credentials.get_mut(credential).expect("it was just put there");
        if body.bytes.fetch_add(bytes, Ordering::Relaxed) == 0 {
            credential.bodies.push(Arc::clone(body));
        }
        credential.bytes += bytes;
        tenant.bytes += bytes;
        self.bytes += bytes;
    }

    pub(super) fn remove(&mut self, body: &Arc<Body>, bytes: u64) {
        let (tenant, credential) = (body.holder.tenant(), body.holder.credential());
        let Some(of_tenant) = self.tenants.get_mut(tenant) else { return };
        let Some(of_credential) = of_tenant.credentials.get_mut(credential) else { return };
        self.bytes -= bytes;
        of_tenant.bytes -= bytes;
        of_credential.bytes -= bytes;
        if body.bytes.fetch_sub(bytes, Ordering::Relaxed) == bytes
            && let Some(at) = of_credential.bodies.iter().position(|it| Arc::ptr_eq(it, body))
        {
            of_credential.bodies.swap_remove(at);
        }
        if of_credential.bytes == 0 {
            of_tenant.credentials.remove(credential);
        }
        if of_tenant.bytes == 0 {
            self.tenants.remove(tenant);
        }
    }

    /// What is used up if this body grows by so much.
    pub(super) fn full(&self, sizes: Sizes, body: &Body, bytes: u64) -> Option<Level> {
        if self.bytes + bytes > sizes.all {
            return Some(Level::All);
        }
        let tenant = self.tenants.get(body.holder.tenant());
        if tenant.map_or(0, |it| it.bytes) + bytes > sizes.tenant {
            return Some(Level::Tenant);
        }
        let credential = tenant.and_then(|it| it.credentials.get(body.holder.credential()))?;
        let after = credential.bytes + bytes;
        (after > sizes.credential && after - credential.largest(body, bytes) > sizes.credential)
            .then_some(Level::Credential)
    }

    /// The slowest body of the largest holder that is larger than who asks would be; else a slow one of its own.
    pub(super) fn victim(&self, level: Level, asker: &Arc<Body>, bytes: u64) -> Option<Arc<Body>> {
        let now = Instant::now();
        let (own_tenant, own) = (asker.holder.tenant(), asker.holder.credential());
        let tenant = self.tenants.get(own_tenant);
        let tenant_after = tenant.map_or(0, |it| it.bytes) + bytes;
        let credential = tenant.and_then(|it| it.credentials.get(own));
        let after = credential.map_or(0, |it| it.bytes) + bytes;
        let mut larger = Vec::new();
        for (name, tenant) in &self.tenants {
            let is_own = name == own_tenant;
            if level == Level::Credential || (!is_own && level == Level::Tenant) {
                continue;
            }
            for (_, it) in tenant.credentials.iter().filter(|it| !is_own || it.0 != own) {
                let is_larger = if is_own { it.bytes > after } else { tenant.bytes > tenant_after };
                if is_larger {
                    larger.push(((tenant.bytes, it.bytes), it));
                }
            }
        }
        larger.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        let found = larger.iter().find_map(|(_, it)| it.slowest(asker, now, |_| true));
        found.or_else(|| credential?.slowest(asker, now, |pace| pace.is_slow(now)))
    }
}

impl Credential {
    /// The bytes of its largest body, if this one grows by so much.
    fn largest(&self, grows: &Body, bytes: u64) -> u64 {
        let others = self.bodies.iter().map(|it| it.bytes.load(Ordering::Relaxed));
        others.chain([grows.bytes.load(Ordering::Relaxed) + bytes]).max().unwrap_or(0)
    }

    /// Of those on which a client is to move.
    fn slowest(
        &self,
        besides: &Arc<Body>,
        now: Instant,
        may_end: impl Fn(&Pace) -> bool,
    ) -> Option<Arc<Body>> {
        let others = self.bodies.iter().filter(|it| !Arc::ptr_eq(it, besides));
        let speed = |it: &Arc<Body>| {
            let way = it.way();
            let can_end = way.turn != Turn::Server && !way.is_ended && may_end(&way.pace);
            can_end.then(|| way.pace.bytes_per_second(now))
        };
        let candidates = others.filter_map(|it| speed(it).map(|speed| (speed, it)));
        candidates.min_by_key(|(speed, _)| *speed).map(|(_, it)| Arc::clone(it))
    }
}
