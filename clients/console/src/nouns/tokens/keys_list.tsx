/** Keys of a tenant or of operators in the order in which they were made, revoked ones too. */

import { useState } from "react";
import type { Key } from "threadkeep";
import { useApi } from "../../api/context.js";
import { ActionButton } from "../../parts/action.js";
import { CopyButton } from "../../parts/copy.js";
import { Marked } from "../../parts/marked.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Time } from "../../parts/units.js";
import { type KeyOwner, operationsOn } from "./key_calls.js";
import { useKeys } from "./queries.js";
import { RevokeKey } from "./revoke_dialogs.js";

const ROW_PX = 84;

export function KeysList({ owner = "own" }: { owner?: KeyOwner }) {
  const query = useKeys(owner);
  const { data, error, refetch, isFetchingNextPage } = query;
  const loadMore = useLoadMore(query);
  const [revoking, setRevoking] = useState<Key>();
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const keys = data.pages.flatMap((page) => page.keys);
  if (keys.length === 0) {
    return (
      <Empty title="The tenant has no keys">
        {owner === "own" ? (
          <>
            <code>threadkeep keys create --tenant NAME</code> makes the first one.
          </>
        ) : (
          "Without one nobody reads or writes what it has stored."
        )}
      </Empty>
    );
  }
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <Rows
        label="Keys"
        rows={keys}
        keyOf={({ keyId }) => keyId}
        heightPx={ROW_PX}
        render={(one) => <KeyRow shown={one} owner={owner} onRevoke={() => setRevoking(one)} />}
        onEnd={loadMore}
      />
      {isFetchingNextPage ? <Loading what="Loading more" /> : null}
      {revoking ? (
        <RevokeKey revoked={revoking} owner={owner} close={() => setRevoking(undefined)} />
      ) : null}
    </>
  );
}

function KeyRow({ shown, owner, onRevoke }: { shown: Key; owner: KeyOwner; onRevoke: () => void }) {
  const { identity } = useApi();
  const { keyId, name, prefix, subject, readOnly, createdAt, revokedAt, expiresAt } = shown;
  const isOver = expiresAt !== undefined && expiresAt.getTime() <= Date.now();
  return (
    <div className="item-row">
      <div className="thread-main">
        <span className="thread-title">
          {name === undefined ? "no name" : <Marked text={name} />}
        </span>
        {prefix === undefined ? null : <code>{prefix}…</code>}
        {readOnly ? <span className="badge">read only</span> : null}
        {keyId === identity.credential ? <span className="badge">this key</span> : null}
        {revokedAt !== undefined ? (
          <span className="badge badge-error">revoked</span>
        ) : isOver ? (
          <span className="badge badge-error">expired</span>
        ) : null}
      </div>
      <div className="thread-facts">
        <span>
          <code>{keyId}</code> <CopyButton text={() => keyId} what="the id of the key" />
        </span>
        <span>
          {subject === undefined ? (
            owner === "operators" ? (
              "all tenants"
            ) : (
              "the whole tenant"
            )
          ) : (
            <>
              subject <Marked text={subject} />
            </>
          )}
        </span>
        <span>
          made <Time at={createdAt} />
        </span>
        {expiresAt === undefined ? null : (
          <span>
            {isOver ? "expired" : "expires"} <Time at={expiresAt} />
          </span>
        )}
        <span>{shown.lastUsedOn === undefined ? "not used" : `last used ${shown.lastUsedOn}`}</span>
        {revokedAt === undefined ? (
          <ActionButton
            label="Revoke"
            needs={[{ operation: operationsOn(owner).revoke }]}
            onClick={onRevoke}
          />
        ) : (
          <span>
            revoked <Time at={revokedAt} />
          </span>
        )}
      </div>
    </div>
  );
}
