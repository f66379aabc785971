/**
 * Whether items fit a pattern in which some members stand for any number of items. Where the rest does not fit, only the
 * last of these members takes one item more, so no pattern takes longer than the product of both lengths.
 */
export function fitsWildcards<Member, Item>(
  pattern: readonly Member[],
  items: readonly Item[],
  isWild: (member: Member) => boolean,
  fits: (member: Member, item: Item) => boolean,
): boolean {
  let [at, item, star, taken] = [0, 0, -1, 0];
  while (item < items.length) {
    const member = pattern[at];
    if (member !== undefined && isWild(member)) {
      star = at;
      taken = item;
      at += 1;
    } else if (member !== undefined && fits(member, items[item] as Item)) {
      at += 1;
      item += 1;
    } else if (star >= 0) {
      at = star + 1;
      taken += 1;
      item = taken;
    } else return false;
  }
  return pattern.slice(at).every(isWild);
}
