/** Says what compression and sharing save. */

/** `share` is 1 - stored / sent. It is below 0 where the stored form is larger. */
export function savedText(share: number): string {
  const percent = Math.round(share * 100);
  if (percent === 0) return "about the same";
  return percent > 0 ? `${percent}% less` : `${-percent}% more`;
}
