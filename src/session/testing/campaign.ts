/** How many cases of a campaign are tried: an eighth in `npm test`, all of them with OPENRATH_CAMPAIGN=full. */
export function campaign(cases: number): number {
  return process.env.OPENRATH_CAMPAIGN === "full" ? cases : Math.ceil(cases / 8);
}
