import { accessSync, constants, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { SandboxUnavailableError } from "../error.js";

/** Something is missing that a package of the system brings. */
export function missing(what: string, program: string, name: string): SandboxUnavailableError {
  return new SandboxUnavailableError("local", `${what} is missing (there is no ${program})`, install(name));
}

/** What bubblewrap said when it could not make a sandbox, turned into what can be done about it. */
export function refusal(
  version: string,
  said: string,
  value: (path: string) => string | undefined = valueAt,
): SandboxUnavailableError {
  if (/unknown option/i.test(said))
    return new SandboxUnavailableError(
      "local",
      `bubblewrap ${version} is too old: it must be 0.8 or later (${said})`,
      `${install("bubblewrap")}, from a newer release of this system`,
    );
  const [path, , open] = SETTINGS.find(([at, closed]) => value(at) === closed) ?? [];
  if (path !== undefined) {
    const name = path.replace("/proc/sys/", "").replaceAll("/", ".");
    return new SandboxUnavailableError(
      "local",
      `this system does not let bubblewrap make namespaces (${name}; it says: ${said})`,
      `sudo sysctl -w ${name}=${open}`,
    );
  }
  return new SandboxUnavailableError(
    "local",
    `bubblewrap ${version} cannot make namespaces (it says: ${said})`,
    'let this process make user namespaces (in a container: by its security profile), or use "docker" or "virtual"',
  );
}

/** Settings of the kernel that forbid namespaces to ordinary users, and what allows them. */
const SETTINGS: readonly (readonly [path: string, closed: string, open: string])[] = [
  ["/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "0"],
  ["/proc/sys/kernel/unprivileged_userns_clone", "0", "1"],
  ["/proc/sys/user/max_user_namespaces", "0", "15000"],
];

function valueAt(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return undefined;
  }
}

const INSTALLERS: readonly (readonly [program: string, command: string])[] = [
  ["apt-get", "sudo apt-get install"],
  ["dnf", "sudo dnf install"],
  ["pacman", "sudo pacman -S"],
  ["zypper", "sudo zypper install"],
  ["apk", "sudo apk add"],
];

function install(name: string): string {
  const [, command] = INSTALLERS.find(([program]) => programOf(program) !== undefined) ?? [];
  return command === undefined
    ? `install ${name} with the package manager of this system`
    : `${command} ${name}`;
}

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
