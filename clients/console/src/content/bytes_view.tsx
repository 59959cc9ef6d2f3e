/** Bytes for a person: a picture, a text, or the first bytes as numbers. HTML, SVG and XML are texts, whatever their type says. */

import { useMemo } from "react";
import { DownloadButton } from "../parts/copy.js";
import { Size } from "../parts/units.js";
import { hexText, imageTypeOf, textOfBytes } from "./images.js";
import { Picture } from "./picture.js";
import { isMarkdownName, PlainText, TextView } from "./text_view.js";

interface Given {
  bytes: Uint8Array;
  name: string;
}

export function BytesView({ bytes, name }: Given) {
  const own = useMemo(() => new Uint8Array(bytes), [bytes]);
  return (
    <div className="bytes-view">
      <p className="toolbar">
        <Size bytes={bytes.byteLength} />
        <DownloadButton bytes={() => own} name={name} />
      </p>
      <Preview bytes={own} name={name} />
    </div>
  );
}

function Preview({ bytes, name }: { bytes: Uint8Array<ArrayBuffer>; name: string }) {
  const type = imageTypeOf(bytes);
  const text = useMemo(() => (type === undefined ? textOfBytes(bytes) : undefined), [bytes, type]);
  if (type !== undefined) return <Picture bytes={bytes} type={type} text={name} />;
  if (text === undefined) return <PlainText text={hexText(bytes)} />;
  return isMarkdownName(name) ? <TextView text={text} /> : <PlainText text={text} />;
}
