/** Characters that some file systems pass over in a name. */
const PASSED_OVER = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/**
 * Whether git would refuse a name on some system: `.git` in any case, as it is called in short on Windows, or with what
 * Windows and macOS pass over.
 */
export function isRefusedByGit(name: string): boolean {
  const plain = name
    .replace(PASSED_OVER, "")
    .toLowerCase()
    .replace(/[. ]*(:.*)?$/s, "");
  return plain === ".git" || plain === "git~1";
}
