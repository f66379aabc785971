/**
 * The bytes of what the shell printed. It hands out a text, in which bytes that are not UTF-8 stand as the characters
 * U+0080 to U+00FF, beside real characters of that range. No text has control characters from there, binary data nearly
 * always does; so they tell one from the other. What is neither (text in Latin-1) comes out as the same text in UTF-8.
 * This is why the capability `exact` is false. Files are not concerned: commands read and write their bytes.
 */
export function bytesOfOutput(text: string): Uint8Array {
  return Buffer.from(text, isBinary(text) ? "latin1" : "utf8");
}

function isBinary(text: string): boolean {
  let control = false;
  for (let place = 0; place < text.length; place++) {
    const unit = text.charCodeAt(place);
    if (unit > 0xff) return false;
    if (unit >= 0x80 && unit <= 0x9f) control = true;
  }
  return control;
}
