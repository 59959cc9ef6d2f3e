/** The places of a session of Agentrail by the names that Agentrail has for them. */

import type { NamedDocument, SessionStream } from "threadkeep";
import type { SessionRoute } from "../../app/route.js";
import { Link } from "../../parts/link.js";
import { type Place, placesOf } from "./agentrail.js";

interface Given {
  route: SessionRoute;
  streams: readonly SessionStream[];
  documents: readonly NamedDocument[];
  /** The stream that is open. */
  stream: string | undefined;
}

export function AgentrailLinks({ route, streams, documents, stream }: Given) {
  const { kind, key } = route;
  const places = placesOf(streams, documents);
  if (places.length === 0) return null;
  return (
    <section>
      <h2>Agentrail</h2>
      <ul>
        {places.map(({ title, ...place }) => (
          <li key={title}>
            <Link
              to={{ page: "session", kind, key, ...place }}
              isCurrent={isOpen(place, route, stream)}
            >
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function isOpen(place: Omit<Place, "title">, route: SessionRoute, stream: string | undefined) {
  if (route.view === "orchestration") return place.view === "orchestration";
  if (route.document !== undefined) return place.document === route.document;
  return place.stream !== undefined && place.stream === stream;
}
