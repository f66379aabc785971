import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Where a program is that can be started: in these folders, or in the usual ones. */
export function programOf(name: string, ...folders: readonly string[]): string | undefined {
  const usual = [...(process.env.PATH ?? "").split(delimiter), "/usr/bin", "/bin", "/usr/sbin", "/sbin"];
  return (folders.length > 0 ? folders : usual)
    .filter((folder) => folder.startsWith("/"))
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
