/** A picture from bytes, under the type that its first bytes say. */

import { useEffect, useState } from "react";

interface Given {
  bytes: Uint8Array<ArrayBuffer>;
  type: string;
  text: string;
}

export function Picture({ bytes, type, text }: Given) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  return address === undefined ? null : <img className="picture" src={address} alt={text} />;
}
