import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { printfText } from "../path.js";
import { processStat } from "../proc.js";
import { sealed } from "./launcher.js";

/**
 * A small shell process that outlives this one by an instant: when its input ends, it kills and removes every
 * box it was told of. It has its own session, so signals to our group miss it, and is restarted if killed.
 */
export class Janitor {
  readonly #state: string;
  readonly #boxes = new Map<string, Belongings>();
  #sign: string | undefined;
  #process: ChildProcess | undefined;
  /** Milliseconds until another one is started when this one ends; longer each time. */
  #patience = 100;
  #closed = false;

  /** @param state the state directory: boxes are `live/<name>` in it, and nothing elsewhere is ever removed */
  constructor(state: string) {
    this.#state = state;
  }

  /** The process, while there is one. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** From now on it looks after this box. Told again, it knows better what belongs to it. */
  add(name: string, belongings: Belongings): void {
    this.#boxes.set(name, belongings);
    if (this.#process === undefined) this.#start();
    else this.#tell(lineOf(name, belongings));
  }

  /** Our sign of life, which is to go with us. */
  sign(name: string): void {
    this.#sign = name;
    if (this.#process === undefined) this.#start();
    else this.#tell(`sign ${name}\n`);
  }

  /** The box is gone. */
  remove(name: string): void {
    if (this.#boxes.delete(name)) this.#tell(`del ${name}\n`);
  }

  /** Lets it go; it removes what it was not told to be gone. Resolves when it has, or after five seconds. */
  async close(): Promise<void> {
    this.#closed = true;
    const child = this.#process;
    if (child === undefined) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 5000);
      child.once("close", () => {
        clearTimeout(timer);
        resolve();
      });
      child.ref();
      child.stdin?.end();
    });
  }

  #start(): void {
    if (this.#closed || process.platform === "win32") return;
    const child = startCleaning(this.#state, "ignore");
    this.#process = child;
    const over = (): void => {
      if (this.#process !== child) return;
      this.#process = undefined;
      setTimeout(() => this.#restart(), this.#patience).unref();
      this.#patience = Math.min(60_000, 2 * this.#patience);
    };
    child.once("error", over);
    child.once("exit", over);
    // It must not keep us running: that we end is what it waits for.
    child.unref();
    (child.stdin as Partial<Socket> | null)?.unref?.();
    if (this.#sign !== undefined) this.#tell(`sign ${this.#sign}\n`);
    for (const [name, belongings] of this.#boxes) this.#tell(lineOf(name, belongings));
  }

  #restart(): void {
    if (this.#process === undefined && this.#boxes.size > 0) this.#start();
  }

  #tell(line: string): void {
    this.#process?.stdin?.write(line);
  }
}

/** When a process of this machine started, in the kernel's ticks; 0 when it is gone or the system does not tell. */
export function startOf(pid: number): number {
  const start = processStat(pid)?.start;
  return Number.isSafeInteger(start) ? (start as number) : 0;
}

/** Something of a sandbox that must not outlive us: processes, told by number and start, and control groups. */
export type Belongings = { readonly processes: readonly ProcessMark[]; readonly cgroups: readonly string[] };

/** A process of this machine. Its number alone may be another's by the time it is looked at. */
export type ProcessMark = { readonly pid: number; readonly start: number };

/** Set in the environment of commands that no namespace holds together, so that they are found. */
export const BOX_VARIABLE = "OPENRATH_SANDBOX";

/** Starts the process that removes boxes: those it was told of, when its input ends. */
export function startCleaning(state: string, output: "ignore" | "pipe"): ChildProcess {
  const child = spawn("/bin/sh", ["-c", SCRIPT, "openrath-janitor"], {
    cwd: state,
    detached: true,
    stdio: sealed(["pipe", output, "ignore"]),
    // Nothing of our environment: it lives longer than we do, and everybody can see it.
    env: { PATH: `/usr/sbin:/usr/bin:/sbin:/bin:${process.env.PATH ?? ""}`, LC_ALL: "C" },
  });
  // Anyone who writes to a process that has just ended learns of it by its end.
  child.stdin?.on("error", () => {});
  return child;
}

/** The line about a box for that process. No field holds a space or a newline, whatever the paths are. */
export function lineOf(name: string, { processes, cgroups }: Belongings): string {
  const marks = processes.map(({ pid, start }) => `${pid}:${start}`).join(",");
  return `add ${name} ${marks || "-"} ${cgroups.map((path) => printfText(Buffer.from(path))).join(",") || "-"}\n`;
}

// Names are 32 hexadecimal digits that no other process's arguments hold by chance; everything else is checked before it
// is used. The content of a box was written by strangers: `rm` and `find` follow no link, and a place where something is still
// mounted is left alone. A process that was being started when we died may show up late, so it looks again.
const SCRIPT = `
trap '' HUP INT QUIT TERM PIPE USR1 USR2
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
set -f
umask 077
boxes= sign=

while IFS=' ' read -r what name marks groups rest; do
  case $name in '' | *[!0-9a-f]*) continue ;; esac
  [ "$what" = sign ] && sign=$name
  [ "\${#name}" = 32 ] || continue
  case $what in
    add)
      case "$boxes " in *" $name "*) ;; *) boxes="$boxes $name" ;; esac
      eval "marks_$name=\\$marks groups_$name=\\$groups"
      ;;
    del)
      case "$boxes " in *" $name "*) boxes="\${boxes%% $name*}\${boxes#* $name}" ;; esac
      unset "marks_$name" "groups_$name"
      ;;
  esac
done
[ -z "$sign" ] || [ -L alive ] || rm -f -- "alive/$sign"
[ -n "$boxes" ] || exit 0

pause() { sleep "$1" 2>/dev/null || sleep 1; }

# Whether process $1 is still the one that started at $2. Its name may hold anything, so the last bracket counts.
alive() {
  if [ ! -e /proc/self/stat ]; then kill -0 "$1" 2>/dev/null; return; fi
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  set -- "$1" "$2" \${stat##*) }
  [ "$3" != Z ] && [ "$3" != X ] && { [ "$2" = 0 ] || [ "\${22}" = "$2" ]; }
}

# The processes that name one of our boxes: bwrap and what it starts in their arguments, others in their environment.
named() {
  [ -e /proc/self/stat ] || return 0
  set +f
  for name in $boxes; do printf '%s\\n' "$name"; done | grep -lsaF -f - /proc/[0-9]*/cmdline 2>/dev/null |
    while read -r file; do
      pid=\${file#/proc/}; pid=\${pid%%/*}
      words=$(tr '\\0' ' ' <"$file" | tr -d '\\n')
      for name in $boxes; do
        # Somebody who looks at a box with an editor is not in it.
        case "$words " in "bwrap "*"$name"* | *"/bwrap "*"$name"* | *" openrath $name "*) echo "$pid" ;; esac
      done
    done 2>/dev/null
  for name in $boxes; do printf '${BOX_VARIABLE}=%s\\n' "$name"; done | grep -lsaF -f - /proc/[0-9]*/environ 2>/dev/null |
    while read -r file; do pid=\${file#/proc/}; echo "\${pid%%/*}"; done
}

# A path of ours: told in octal, and one of the control groups' file system.
group() {
  path=$(printf '%bx' "$1"); path=\${path%x}
  case $path in /sys/fs/cgroup/?*) ;; *) return 1 ;; esac
  case "$path/" in */../* | */./*) return 1 ;; esac
  [ -d "$path" ]
}

# Kills process $1, and remembers that it did.
strike() {
  found=$((found + 1))
  case "$victims " in *" $1 "*) ;; *) victims="$victims $1" killed=$((killed + 1)) ;; esac
  kill -KILL "$1" 2>/dev/null
}

victims= killed=0
slay() {
  found=0
  for name in $boxes; do
    eval "marks=\\$marks_$name groups=\\$groups_$name"
    for mark in $(IFS=,; set -- $marks; printf '%s\\n' "$@"); do
      pid=\${mark%%:*}
      case $mark in *[!0-9:]* | :* | 0:* | 1:*) continue ;; esac
      alive "$pid" "\${mark#*:}" || continue
      [ -e /proc/self/stat ] || kill -KILL "-$pid" 2>/dev/null
      strike "$pid"
    done
    for one in $(IFS=,; set -- $groups; printf '%s\\n' "$@"); do
      group "$one" || continue
      # What is frozen does not die.
      [ -e "$path/freezer.state" ] && echo THAWED >"$path/freezer.state"
      [ -e "$path/cgroup.freeze" ] && echo 0 >"$path/cgroup.freeze"
      for pid in $(find "$path" -name cgroup.procs -exec cat {} + 2>/dev/null); do
        alive "$pid" 0 && strike "$pid"
      done
    done
  done 2>/dev/null
  for pid in $(named); do
    alive "$pid" 0 && strike "$pid"
  done
  return "$((found > 0))"
}

# Until nothing is found, but with a limit: a process may hang in the kernel.
slaughter() {
  turns=0
  while ! slay; do
    turns=$((turns + 1))
    [ "$turns" -lt 50 ] || return 1
    pause 0.05
  done
}

# Whether nothing is left mounted in box $1.
unmounted() {
  [ -r /proc/self/mountinfo ] || return 0
  grep -q "/live/$1" /proc/self/mountinfo || return 0
  while read -r _ _ _ _ point _; do
    case $point in */live/"$1" | */live/"$1"/*) umount -l "live/$1\${point##*/live/$1}" 2>/dev/null ;; esac
  done </proc/self/mountinfo
  ! grep -q "/live/$1[ /]" /proc/self/mountinfo
}

# Removes box $1. A directory may be closed even to its owner.
clear_out() {
  [ -e "live/$1" ] || [ -L "live/$1" ] || return 0
  [ ! -L live ] && unmounted "$1" || return 1
  rm -rf -- "live/$1" 2>/dev/null && return 0
  find "live/$1" -type d ! -perm -700 -exec chmod u+rwx {} \\; 2>/dev/null
  rm -rf -- "live/$1" 2>/dev/null
}

# What was being written of box $1. The name of a draft says who wrote it.
drop_drafts() { (set +f; rm -f -- "registry/.$1".*.tmp 2>/dev/null); }

sweep_up() {
  for name in $boxes; do
    eval "groups=\\$groups_$name"
    clean=yes
    clear_out "$name" || clean=no
    for one in $(IFS=,; set -- $groups; printf '%s\\n' "$@"); do
      group "$one" || continue
      find "$path" -depth -type d -exec rmdir {} \\; 2>/dev/null
      [ ! -d "$path" ] || clean=no
    done
    [ "$clean" = yes ] && [ "$ended" = yes ] && [ ! -L registry ] &&
      drop_drafts "$name" && rm -- "registry/$name.json" 2>/dev/null && told="$told $name"
    [ "$clean" = yes ] || left="$left $name"
  done
}

told= ended=yes
slaughter || ended=no
left=; sweep_up
pause 0.3
slay || slaughter || ended=no
left=; sweep_up
for name in $told; do echo "gone $name"; done
for name in $left; do echo "left $name"; done
echo "killed $killed"
`;
