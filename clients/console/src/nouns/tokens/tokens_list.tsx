/** The minted tokens that are still valid, newest first. */

import { useState } from "react";
import type { LiveToken } from "threadkeep";
import { useApi } from "../../api/context.js";
import { ActionButton } from "../../parts/action.js";
import { CopyButton } from "../../parts/copy.js";
import { MoreButton } from "../../parts/more_button.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Time } from "../../parts/units.js";
import { useTokens } from "./queries.js";
import { RevokeToken } from "./revoke_dialogs.js";

const ROW_PX = 64;

export function TokensList() {
  const query = useTokens();
  const { data, error, refetch, isFetchingNextPage } = query;
  const loadMore = useLoadMore(query);
  const [revoking, setRevoking] = useState<LiveToken>();
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const tokens = data.pages.flatMap((page) => page.tokens);
  const dialog = revoking ? (
    <RevokeToken revoked={revoking} close={() => setRevoking(undefined)} />
  ) : null;
  if (tokens.length === 0) {
    return (
      <>
        <NoTokens query={query} />
        {dialog}
      </>
    );
  }
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <Rows
        label="Tokens"
        rows={tokens}
        keyOf={({ tokenId }) => tokenId}
        heightPx={ROW_PX}
        render={(one) => <TokenRow shown={one} onRevoke={() => setRevoking(one)} />}
        onEnd={loadMore}
      />
      {isFetchingNextPage ? <Loading what="Loading more" /> : null}
      <p className="note">Tokens that were narrowed end with the one that they came from.</p>
      {dialog}
    </>
  );
}

/** A page of the server may be empty where the next one has some. */
function NoTokens({ query }: { query: ReturnType<typeof useTokens> }) {
  if (!query.hasNextPage) {
    return (
      <Empty title="No token is valid">
        A token opens a part of what its key opens, for a day at most.
      </Empty>
    );
  }
  return <MoreButton query={query} title="Look further" />;
}

function TokenRow({ shown, onRevoke }: { shown: LiveToken; onRevoke: () => void }) {
  const { identity } = useApi();
  const { tokenId, minter, mintedAt, expiresAt, readOnly } = shown;
  return (
    <div className="item-row">
      <div className="thread-main">
        <code className="item-key">{tokenId}</code>
        <CopyButton text={() => tokenId} what="the id of the token" />
        {readOnly ? <span className="badge">read only</span> : null}
        {tokenId === identity.credential ? <span className="badge">this token</span> : null}
      </div>
      <div className="thread-facts">
        <span>
          made <Time at={mintedAt} /> by <code>{minter}</code>
        </span>
        <span>
          ends <Time at={expiresAt} />
        </span>
        <ActionButton
          label="Revoke"
          needs={[{ operation: "revoke_token", thing: { tenant: true } }]}
          onClick={onRevoke}
        />
      </div>
    </div>
  );
}
