import { printfText } from "../path.js";

/** Programs for the inside of containers, in the language of every shell that there is: images may have bash, dash or busybox. */

export const WORKSPACE = "/workspace";

/** The first process of a container. It waits for orphans: with `sleep`, dead processes would pile up. */
export const KEEPER = "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done";

/** Starts a command: directory, terminal size, "text" or "words", these. First prints its pid or the error. */
const STARTER = [
  `directory=$(printf '%b.' "$1")`,
  `cd "\${directory%.}" 2>/dev/null || { echo "-directory" >&2; exit 0; }`,
  "unset directory OLDPWD",
  `[ -z "$2" ] || stty $2 2>/dev/null`,
  "shift",
  `if [ "$2" = text ]; then`,
  `  if command -v bash >/dev/null 2>&1; then set -- x x bash -c "$3"; else set -- x x sh -c "$3"; fi`,
  `elif [ "\${3#*/}" != "$3" ]; then`,
  `  { [ -x "$3" ] && [ ! -d "$3" ]; } || { echo "-program" >&2; exit 0; }`,
  `elif ! command -v "$3" >/dev/null 2>&1; then echo "-program" >&2; exit 0; fi`,
  "shift 2",
  `echo "+$$" >&2`,
  `exec "$@"`,
].join("\n");

export function startOf(
  command: string | readonly string[],
  directory: Uint8Array,
  terminal?: { readonly columns?: number; readonly rows?: number },
): readonly string[] {
  const size = terminal === undefined ? "" : `rows ${terminal.rows ?? 24} cols ${terminal.columns ?? 80}`;
  const how = typeof command === "string" ? ["text", command] : ["words", ...command];
  return ["/bin/sh", "-c", STARTER, "sh", printfText(directory), size, ...how];
}

/**
 * Sends a signal to every process of a session: the engine makes each command the first of one, and only who asks for it
 * leaves it. Those of its group get it all at once, or a shell would go on with its next line while its children die.
 * SIGKILL is sent until none is left, since they may start others meanwhile. A process names itself, so its name may hold
 * brackets, spaces and ends of lines.
 */
const SIGNALLER = [
  `session=$1 signal=$2 round=0`,
  `kill -"$signal" -"$session" 2>/dev/null`,
  `while [ $round -lt 40 ]; do`,
  `  round=$((round + 1)) found=`,
  `  for process in /proc/[0-9]*; do`,
  `    line=`,
  `    { while read -r part || [ -n "$part" ]; do line="$line $part"; done <"$process/stat"; } 2>/dev/null || continue`,
  `    set -- \${line##*) }`,
  `    [ "$4" = "$session" ] && [ "$1" != Z ] && [ "$1" != X ] || continue`,
  // Once is enough for a signal that can be caught.
  `    [ "$signal" = KILL ] || [ "$3" != "$session" ] || continue`,
  `    kill -"$signal" "\${process#/proc/}" 2>/dev/null && found=1`,
  `  done`,
  `  if [ "$signal" != KILL ] || [ -z "$found" ]; then break; fi`,
  `done`,
  `echo ok`,
].join("\n");

export function signalOf(session: number, signal: string): readonly string[] {
  return ["/bin/sh", "-c", SIGNALLER, "sh", String(session), signal.replace(/^SIG/, "")];
}

/** Sends a signal to everybody in the container but its first process. */
export function everybody(signal: "STOP" | "CONT"): readonly string[] {
  // With nobody else there it fails, and is done all the same.
  return ["/bin/sh", "-c", `kill -${signal} -1 2>/dev/null; echo ok`];
}

/** Goes down from the workspace by names, through no link, and says in one word why it cannot. */
const WALK = [
  `say() { echo "$side$1"; exit 0; }`,
  `side=`,
  `name() { text=$(printf '%b.' "$1"); text=\${text%.}; }`,
  `down() {`,
  `  cd ${WORKSPACE} || say failed`,
  `  for each; do`,
  `    name "$each"`,
  `    [ -L "./$text" ] && say link`,
  `    [ -e "./$text" ] || say missing`,
  `    [ -d "./$text" ] || say not-a-directory`,
  `    cd "./$text" || say failed`,
  `  done`,
  `}`,
  // Where a directory refuses its owner, the owner can allow it first.
  `away() {`,
  `  rm -rf "$@" 2>/dev/null`,
  `  for each; do`,
  `    if [ -e "$each" ] || [ -L "$each" ]; then`,
  `      [ -L "$each" ] || chmod -R u+rwx "$each" 2>/dev/null`,
  `      rm -rf "$each" 2>/dev/null`,
  `    fi`,
  `  done`,
  `}`,
];

const REMOVER = [
  ...WALK,
  "last=$1; shift",
  `down "$@"`,
  `name "$last"`,
  `away "./$text"`,
  `{ [ -e "./$text" ] || [ -L "./$text" ]; } && say failed`,
  "say ok",
].join("\n");

export function removalOf(names: readonly Uint8Array[]): readonly string[] {
  const words = names.map(printfText);
  return ["/bin/sh", "-c", REMOVER, "sh", words.at(-1) ?? "", ...words.slice(0, -1)];
}

const EMPTIER = [
  ...WALK,
  "down",
  "chmod u+rwx . 2>/dev/null",
  "away ./* ./.[!.]* ./..?*",
  `for each in ./* ./.[!.]* ./..?*; do { [ -e "$each" ] || [ -L "$each" ]; } && say failed; done`,
  "say ok",
].join("\n");

export function emptying(): readonly string[] {
  return ["/bin/sh", "-c", EMPTIER, "sh"];
}

const MOVER = [
  ...WALK,
  `from=$1 to=$2 count=$3; shift 3`,
  `here=; there=; place=0`,
  `for each; do`,
  `  if [ $place -lt $count ]; then here="$here $each"; else there="$there $each"; fi`,
  `  place=$((place + 1))`,
  `done`,
  // Escaped names hold no spaces, so that lists of them can be taken apart again.
  `set -f`,
  `down $here`,
  `name "$from"`,
  `{ [ -e "./$text" ] || [ -L "./$text" ]; } || say missing`,
  `source=$(pwd -P; echo .); source=\${source%??}/$text`,
  `side="to "`,
  `down $there`,
  `name "$to"`,
  `if [ -L "./$text" ]; then rm -f "./$text"; elif [ -d "./$text" ]; then say not-a-file; fi`,
  `mv -f "$source" "./$text" 2>/dev/null || say failed`,
  `side=`,
  `say ok`,
].join("\n");

export function moveOf(from: readonly Uint8Array[], to: readonly Uint8Array[]): readonly string[] {
  const [here, there] = [from.map(printfText), to.map(printfText)];
  const names = [here.at(-1) ?? "", there.at(-1) ?? "", String(here.length - 1)];
  return ["/bin/sh", "-c", MOVER, "sh", ...names, ...here.slice(0, -1), ...there.slice(0, -1)];
}

/** How often processes ran out of memory, as the kernel counts it; in the first or the second kind of control groups. */
export const MEMORY_EVENTS: readonly string[] = [
  "/bin/sh",
  "-c",
  "cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null",
];
