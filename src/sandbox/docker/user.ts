/** Who commands run as, in numbers: those are what files belong to. */
export type Owner = { readonly uid: number; readonly gid: number };

const ROOT: Owner = Object.freeze({ uid: 0, gid: 0 });

/**
 * The owner that an image's setting means: "", "node", "1000", "node:staff" or "1000:1000". Names are looked up in the
 * files of the image, as the engine does; undefined when they are not there.
 */
export async function ownerOf(
  setting: string,
  read: (path: string) => Promise<string | undefined>,
): Promise<Owner | undefined> {
  if (setting === "") return ROOT;
  const [user = "", group] = setting.split(":");
  const needsNames = !isNumber(user) || (group !== undefined && group !== "" && !isNumber(group));
  const users = rows(needsNames || group === undefined ? await read("/etc/passwd") : undefined);
  const entry = users.find((row) => (isNumber(user) ? row[2] === user : row[0] === user));
  const uid = isNumber(user) ? Number(user) : Number(entry?.[2] ?? Number.NaN);
  let gid = Number(entry?.[3] ?? 0);
  if (group !== undefined && group !== "") {
    const groups = isNumber(group) ? [] : rows(await read("/etc/group"));
    gid = isNumber(group) ? Number(group) : Number(groups.find((row) => row[0] === group)?.[2] ?? Number.NaN);
  }
  return Number.isSafeInteger(uid) && Number.isSafeInteger(gid) ? { uid, gid } : undefined;
}

function isNumber(text: string): boolean {
  return /^\d{1,10}$/.test(text);
}

function rows(text: string | undefined): readonly (readonly string[])[] {
  return (text ?? "").split("\n").map((line) => line.split(":"));
}
