import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { seccompFilter } from "./seccomp.js";
import { inside, missing, program } from "./testing/bwrap.js";
import { folder } from "./testing/folder.js";

const [X64, ARM64, I386] = [0xc000003e, 0xc00000b7, 0x40000003];
const ALLOWED = 0x7fff0000;
const KILLED = 0x80000000;
const [EPERM, ENOSYS, EPROTONOSUPPORT, EAFNOSUPPORT] = [1, 38, 93, 97];

/** What the kernel would do: an interpreter of classic BPF, as far as seccomp allows it, that checks as it goes. */
function verdict(
  filter: Uint8Array,
  architecture: number,
  call: number,
  args: readonly number[] = [],
): number {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, call, true);
  data.setUint32(4, architecture, true);
  args.forEach((value, place) => {
    data.setBigUint64(16 + 8 * place, BigInt(value), true);
  });
  const view = new DataView(filter.buffer, filter.byteOffset, filter.byteLength);
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at++) {
    const [code, yes, no, value] = [
      view.getUint16(8 * at, true),
      view.getUint8(8 * at + 2),
      view.getUint8(8 * at + 3),
      view.getUint32(8 * at + 4, true),
    ];
    if (code === 0x20) accumulator = data.getUint32(value, true);
    else if (code === 0x54) accumulator = (accumulator & value) >>> 0;
    else if (code === 0x05) at += value;
    else if (code === 0x15) at += accumulator === value ? yes : no;
    else if (code === 0x25) at += accumulator > value ? yes : no;
    else if (code === 0x45) at += (accumulator & value) !== 0 ? yes : no;
    else if (code === 0x06) return value;
    else throw new Error(`instruction ${at} has code ${code}`);
  }
  throw new Error("the program ends without a verdict");
}

const refused = (errno: number): number => 0x00050000 | errno;

function filterOf(architecture: string): Uint8Array {
  const filter = seccompFilter(architecture);
  if (filter === undefined) throw new Error(`no filter for ${architecture}`);
  return filter;
}

/** The numbers of the calls as the kernel's headers have them, where they are installed. */
function headers(): { x64: Map<string, number>; arm64: Map<string, number> } | undefined {
  const [one, other] = ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h"];
  if (!existsSync(one) || !existsSync(other)) return undefined;
  const read = (path: string, pattern: RegExp): Map<string, number> =>
    new Map(
      [...readFileSync(path, "utf8").matchAll(pattern)].map(([, name = "", number]) => [
        name,
        Number(number),
      ]),
    );
  return {
    x64: read(one, /#define __NR_(\w+)\s+(\d+)/g),
    arm64: read(other, /#define __NR(?:3264)?_(\w+)\s+(\d+)/g),
  };
}

const NEVER = [
  ...[
    "keyctl",
    "add_key",
    "request_key",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "kexec_load",
    "kexec_file_load",
  ],
  ...[
    "init_module",
    "finit_module",
    "delete_module",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "open_tree",
  ],
  ...["move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "setns", "name_to_handle_at"],
  ...["open_by_handle_at", "quotactl", "quotactl_fd", "swapon", "swapoff", "reboot", "settimeofday"],
  ...["clock_settime", "clock_adjtime", "adjtimex", "acct", "syslog", "fanotify_init", "vhangup"],
  ...["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "openat2"],
];
/** Let through or not by their arguments. */
const LOOKED_INTO = [
  ...["clone", "unshare", "socket", "socketpair", "ioctl", "open", "openat", "creat", "mknod", "mknodat"],
  ...["chmod", "fchmod", "fchmodat", "fcntl"],
];
/** Refused on x64 alone, where they have numbers. */
const OLD = [
  ...[
    "create_module",
    "get_kernel_syms",
    "query_module",
    "nfsservctl",
    "lookup_dcookie",
    "uselib",
    "_sysctl",
  ],
  ...["iopl", "ioperm", "modify_ldt"],
];

describe("the filter as a program", () => {
  it.for([
    ["x64", X64],
    ["arm64", ARM64],
  ] as const)(
    "[S1] on %s, exactly the calls that are named are refused, of all that the kernel's headers know",
    ([name, audit], ctx) => {
      const known = headers()?.[name];
      if (known === undefined) return ctx.skip("the kernel's headers are not installed");
      const filter = filterOf(name);
      expect(known.size).toBeGreaterThan(290);
      const wrong: string[] = [];
      for (const [call, number] of known) {
        if (LOOKED_INTO.includes(call)) continue;
        const answer = verdict(filter, audit, number);
        const expected = NEVER.includes(call) || OLD.includes(call);
        if ((answer !== ALLOWED) !== expected) wrong.push(`${call} (${number}): ${answer.toString(16)}`);
      }
      expect(wrong).toEqual([]);
      expect(NEVER.filter((call) => !known.has(call))).toEqual([]);
    },
  );

  it("[S2] another architecture is the end of the process, and calls newer than the list do not exist", () => {
    for (const [name, audit, other] of [
      ["x64", X64, I386],
      ["arm64", ARM64, 0x40000028],
    ] as const) {
      const filter = filterOf(name);
      for (let call = 0; call < 500; call++) expect(verdict(filter, other, call)).toBe(KILLED);
      expect(verdict(filter, audit, 470)).toBe(refused(ENOSYS));
      expect(verdict(filter, audit, 0xffffffff)).toBe(refused(ENOSYS));
      // x32: the numbers of x64 with a bit set, and those of its own.
      for (let call = 0; call < 600; call++)
        expect(verdict(filter, audit, 0x40000000 + call)).toBe(refused(ENOSYS));
      expect(verdict(filter, audit, 520)).toBe(refused(ENOSYS));
    }
    expect(verdict(filterOf("x64"), ARM64, 0)).toBe(KILLED);
  });

  it("[S3] new namespaces are refused in every form, and threads and forks are not", () => {
    for (const [name, audit, clone, unshare] of [
      ["x64", X64, 56, 272],
      ["arm64", ARM64, 220, 97],
    ] as const) {
      const filter = filterOf(name);
      const [THREAD, FORK, VFORK] = [0x3d0f00, 0x1200011, 0x4111];
      for (const flags of [THREAD, FORK, VFORK, 17])
        expect(verdict(filter, audit, clone, [flags])).toBe(ALLOWED);
      for (const bit of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
        expect(verdict(filter, audit, clone, [bit | 17])).toBe(refused(EPERM));
        expect(verdict(filter, audit, unshare, [bit])).toBe(refused(EPERM));
        // The kernel looks at 32 bits; so do we, whatever stands above them.
        expect(verdict(filter, audit, clone, [2 ** 40 + (bit | 17)])).toBe(refused(EPERM));
      }
      expect(verdict(filter, audit, unshare, [0x80])).toBe(refused(EPERM));
      expect(verdict(filter, audit, unshare, [0x200 | 0x400])).toBe(ALLOWED);
    }
  });

  it("[S4] of all families of sockets, unix, internet and routes are left", () => {
    for (const [name, audit, socket, pair] of [
      ["x64", X64, 41, 53],
      ["arm64", ARM64, 198, 199],
    ] as const) {
      const filter = filterOf(name);
      const CLOSE_ON_EXEC = 0x80000;
      for (let family = 0; family < 64; family++) {
        const expected = [1, 2, 10, 16].includes(family) ? ALLOWED : refused(EAFNOSUPPORT);
        expect(verdict(filter, audit, socket, [family, 1 | CLOSE_ON_EXEC, 0])).toBe(expected);
        expect(verdict(filter, audit, socket, [2 ** 33 + family, 1, 0])).toBe(expected);
        expect(verdict(filter, audit, pair, [family, 1, 0])).toBe(expected);
      }
      for (const family of [2, 10])
        for (const [type, protocol, expected] of [
          [1, 6, ALLOWED],
          [2, 17, ALLOWED],
          [2, 1, ALLOWED],
          [2, 58, ALLOWED],
          [1, 132, refused(EPROTONOSUPPORT)],
          [1, 262, refused(EPROTONOSUPPORT)],
          [3, 0, refused(EPROTONOSUPPORT)],
          [3, 255, refused(EPROTONOSUPPORT)],
          [5, 0, refused(EPROTONOSUPPORT)],
          [10, 3, refused(EPROTONOSUPPORT)],
        ] as const)
          expect([family, type, protocol, verdict(filter, audit, socket, [family, type, protocol])]).toEqual([
            ...[family, type, protocol, expected],
          ]);
      for (let protocol = 1; protocol < 24; protocol++)
        expect(verdict(filter, audit, socket, [16, 3, protocol])).toBe(refused(EPROTONOSUPPORT));
    }
  });

  it("[S5] no file becomes one that runs as its owner, however it is made, and other modes are free", () => {
    const cases = {
      x64: [
        X64,
        {
          chmod: [90, 1],
          fchmod: [91, 1],
          fchmodat: [268, 2],
          fchmodat2: [452, 2],
          creat: [85, 1],
          mknod: [133, 1],
          mknodat: [259, 2],
        },
        { open: [2, 1], openat: [257, 2] },
      ],
      arm64: [
        ARM64,
        { fchmod: [52, 1], fchmodat: [53, 2], fchmodat2: [452, 2], mknodat: [33, 2] },
        { openat: [56, 2] },
      ],
    } as const;
    for (const [name, [audit, modes, opens]] of Object.entries(cases)) {
      const filter = filterOf(name);
      const at = (place: number, ...values: number[]): number[] => [...Array(place).fill(7), ...values];
      for (const [number, place] of Object.values(modes)) {
        expect(verdict(filter, audit, number, at(place, 0o4755))).toBe(refused(EPERM));
        for (const mode of [0o2775, 0o1777, 0o777, 0])
          expect(verdict(filter, audit, number, at(place, mode))).toBe(ALLOWED);
      }
      for (const [number, place] of Object.values(opens)) {
        expect(verdict(filter, audit, number, at(place, 0x41, 0o4755))).toBe(refused(EPERM));
        expect(verdict(filter, audit, number, at(place, 0x410000, 0o4755))).toBe(refused(EPERM));
        expect(verdict(filter, audit, number, at(place, 0x41, 0o755))).toBe(ALLOWED);
        // Without creating, the mode is whatever lies in the register.
        expect(verdict(filter, audit, number, at(place, 0, 0xffffffff))).toBe(ALLOWED);
      }
    }
  });

  it("[S6] a terminal cannot be typed into, whatever stands in the upper half of the request", () => {
    for (const [name, audit, ioctl] of [
      ["x64", X64, 16],
      ["arm64", ARM64, 29],
    ] as const)
      for (const [request, expected] of [
        [0x5412, refused(EPERM)],
        [2 ** 32 + 0x5412, refused(EPERM)],
        [0x541c, refused(EPERM)],
        [0x5423, refused(EPERM)],
        [0x5401, ALLOWED],
        [0x5413, ALLOWED],
        [0x5421, ALLOWED],
      ] as const)
        expect(verdict(filterOf(name), audit, ioctl, [0, request])).toBe(expected);
  });

  it("[S10] no file is leased and no directory watched by fcntl, and its other uses are free", () => {
    for (const [name, audit, fcntl] of [
      ["x64", X64, 72],
      ["arm64", ARM64, 25],
    ] as const)
      for (const [command, expected] of [
        [1024, refused(EPERM)],
        [2 ** 32 + 1024, refused(EPERM)],
        [1026, refused(EPERM)],
        // The locks of files, duplicates, flags, the sizes of pipes and seals are what programs use it for.
        ...[0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1025, 1030, 1031, 1032, 1033].map(
          (one) => [one, ALLOWED] as const,
        ),
      ] as const)
        expect([command, verdict(filterOf(name), audit, fcntl, [3, command])]).toEqual([command, expected]);
  });

  it("[S7] a processor without a list has no filter", () => {
    for (const architecture of ["riscv64", "s390x", "ia32", "toString"])
      expect(seccompFilter(architecture)).toBeUndefined();
  });
});

const without =
  missing() ??
  (process.arch !== "x64" ? "the probe has the numbers of x64" : undefined) ??
  (program("python3") === undefined ? "there is no python3 in /usr" : undefined);

/** Makes the calls it is told, each in a process of its own, and tells for each what came of it. */
const PROBE = `
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
answers = []
for number, args in json.loads(sys.argv[1]):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        ctypes.set_errno(0)
        filled = [ctypes.c_char_p(a.encode()) if isinstance(a, str) else ctypes.c_long(a) for a in args]
        result = libc.syscall(ctypes.c_long(number), *filled)
        if result == 0 and number == 56: os._exit(0)
        os.write(write, str(ctypes.get_errno() if result == -1 else 0).encode())
        os._exit(0)
    os.close(write)
    answers.append(int(os.read(read, 16) or -1))
    os.close(read)
    os.waitpid(pid, 0)
print(json.dumps(answers))
`;

describe.skipIf(without !== undefined)(
  `the filter in a real sandbox${without === undefined ? "" : ` (skipped: ${without})`}`,
  () => {
    const NULL = 0;
    const CALLS: readonly (readonly [
      what: string,
      number: number,
      args: readonly (number | string)[],
      expected: number,
    ])[] = [
      ["keyctl", 250, [0, -3, 0], EPERM],
      ["add_key", 248, ["user", "name", "value", 5, -2], EPERM],
      ["request_key", 249, ["user", "name", NULL, 0], EPERM],
      ["io_uring_setup", 425, [1, NULL], ENOSYS],
      ["io_uring_enter", 426, [-1, 0, 0, 0, NULL], ENOSYS],
      ["io_uring_register", 427, [-1, 0, NULL, 0], ENOSYS],
      ["bpf", 321, [0, NULL, 0], EPERM],
      ["perf_event_open", 298, [NULL, 0, -1, -1, 0], EPERM],
      ["userfaultfd", 323, [1], EPERM],
      ["kexec_load", 246, [0, 0, NULL, 0], EPERM],
      ["init_module", 175, [NULL, 0, ""], EPERM],
      ["delete_module", 176, ["none", 0], EPERM],
      ["mount", 165, ["none", "/tmp", "tmpfs", 0, NULL], EPERM],
      ["umount2", 166, ["/tmp", 2], EPERM],
      ["pivot_root", 155, ["/", "/"], EPERM],
      ["chroot", 161, ["/"], EPERM],
      ["open_tree", 428, [-100, "/", 1], EPERM],
      ["move_mount", 429, [-1, "", -1, "", 0], EPERM],
      ["fsopen", 430, ["tmpfs", 0], EPERM],
      ["fspick", 433, [-100, "/", 0], EPERM],
      ["mount_setattr", 442, [-100, "/", 0, NULL, 0], EPERM],
      ["setns", 308, [-1, 0], EPERM],
      ["unshare users", 272, [0x10000000], EPERM],
      ["unshare mounts", 272, [0x20000], EPERM],
      ["unshare time", 272, [0x80], EPERM],
      ["clone users", 56, [0x10000011, 0, 0, 0, 0], EPERM],
      ["clone3", 435, [NULL, 0], ENOSYS],
      ["openat2", 437, [-100, "/tmp", NULL, 0], ENOSYS],
      ["name_to_handle_at", 303, [-100, "/tmp", NULL, NULL, 0], EPERM],
      ["open_by_handle_at", 304, [-100, NULL, 0], EPERM],
      ["quotactl", 179, [0, NULL, 0, NULL], EPERM],
      ["swapon", 167, ["/none", 0], EPERM],
      ["reboot", 169, [0, 0, 0, NULL], EPERM],
      ["settimeofday", 164, [NULL, NULL], EPERM],
      ["adjtimex", 159, [NULL], EPERM],
      ["syslog", 103, [10, NULL, 0], EPERM],
      ["socket vsock", 41, [40, 1, 0], EAFNOSUPPORT],
      ["socket packet", 41, [17, 3, 0], EAFNOSUPPORT],
      ["socket alg", 41, [38, 5, 0], EAFNOSUPPORT],
      ["socket key", 41, [15, 3, 2], EAFNOSUPPORT],
      ["socket netlink audit", 41, [16, 3, 9], EPROTONOSUPPORT],
      ["socket raw", 41, [2, 3, 1], EPROTONOSUPPORT],
      ["socket sctp", 41, [2, 1, 132], EPROTONOSUPPORT],
      ["ioctl TIOCSTI", 16, [0, 0x5412, "x"], EPERM],
      ["ioctl TIOCLINUX", 16, [0, 0x541c, "x"], EPERM],
      ["fcntl F_SETLEASE", 72, [0, 1024, 2], EPERM],
      ["fcntl F_NOTIFY", 72, [0, 1026, 1], EPERM],
      ["fanotify_init", 300, [0, 0], EPERM],
      ["chmod setuid", 90, ["/tmp", 0o4755], EPERM],
      ["open setuid", 2, ["/tmp/setuid", 0x41, 0o4755], EPERM],
      ["creat setuid", 85, ["/tmp/setuid", 0o4755], EPERM],
      ["mknod setuid", 133, ["/tmp/setuid", 0o104755, 0], EPERM],
      ["x32 getpid", 0x40000000 + 39, [], ENOSYS],
      ["a call of the future", 600, [], ENOSYS],
      ["socket unix", 41, [1, 1, 0], 0],
      ["socket tcp", 41, [2, 1, 0], 0],
      ["socket udp6", 41, [10, 2, 0], 0],
      ["socket netlink route", 41, [16, 3, 0], 0],
      ["chmod", 90, ["/tmp", 0o755], 0],
      ["open", 2, ["/tmp/plain", 0x41, 0o755], 0],
      ["unshare files", 272, [0x400], 0],
    ];

    it("[S8] the kernel refuses what the list names, and would not have without it", async () => {
      const told = JSON.stringify(CALLS.map(([, number, args]) => [number, args]));
      const command = [program("python3") as string, "-I", "-c", PROBE, told];
      const [filtered, free] = await Promise.all([
        inside(command, { filter: filterOf("x64") }),
        inside(command),
      ]);
      expect([filtered.code, filtered.stderr]).toEqual([0, ""]);
      const answers = JSON.parse(filtered.stdout) as number[];
      expect(CALLS.map(([what], place) => [what, answers[place]])).toEqual(
        CALLS.map(([what, , , expected]) => [what, expected]),
      );
      // Some are refused by the kernel anyway for who has no rights. That many are not shows that the filter does something.
      const before = JSON.parse(free.stdout) as number[];
      const changed = CALLS.filter((_, place) => before[place] !== answers[place]).map(([what]) => what);
      for (const what of [
        "keyctl",
        "io_uring_setup",
        "clone3",
        "name_to_handle_at",
        "chmod setuid",
        "open setuid",
        "unshare users",
        "ioctl TIOCSTI",
      ])
        expect(changed).toContain(what);
      expect(changed.length).toBeGreaterThan(20);
    });

    it("[S2] a program of another architecture is ended", async (ctx) => {
      const gcc = program("gcc");
      if (gcc === undefined) return ctx.skip("there is no gcc to make one with");
      const at = folder();
      // Enters the kernel by the door of 32-bit programs, where 20 is getpid.
      writeFileSync(
        join(at, "i386.c"),
        'int main(void){int pid;__asm__ volatile("int $0x80":"=a"(pid):"a"(20));return pid>0?0:1;}\n',
      );
      const compiled = spawnSync(gcc, ["-o", join(at, "i386"), join(at, "i386.c")], { encoding: "utf8" });
      if (compiled.status !== 0) return ctx.skip(`gcc does not work here: ${compiled.stderr}`);
      const more = ["--ro-bind", at, "/probe"];
      const free = await inside(["/probe/i386"], { more });
      if (free.code !== 0) return ctx.skip("this kernel has no 32-bit calls");
      const { code, signal } = await inside(["sh", "-c", "/probe/i386; echo $?"], {
        more,
        filter: filterOf("x64"),
      }).then(({ stdout, signal }) => ({ code: Number(stdout), signal }));
      // 128 + SIGSYS
      expect([code, signal]).toEqual([159, null]);
    });

    it("[S9] shells, compilers, interpreters, package managers and git run under it", async () => {
      const at = folder();
      mkdirSync(join(at, "work"));
      const more = ["--bind", join(at, "work"), "/work", "--chdir", "/work"];
      const works: readonly (readonly [tool: string, script: string, says: string])[] = [
        ["sh", "(sleep 0 & wait; seq 3 | tail -1)", "3"],
        [
          "node",
          `node -e 'const {Worker}=require("worker_threads");require("fs/promises").readFile("/proc/self/stat").then(()=>new Worker("process.exit(0)",{eval:true}).on("exit",()=>console.log(os.networkInterfaces()&&"ok")));const os=require("os")'`,
          "ok",
        ],
        [
          "python3",
          `python3 -c 'import subprocess,threading,multiprocessing as m,socket; t=threading.Thread(target=print);t.start();t.join(); s=socket.socketpair(); print(subprocess.run(["echo","ok"],capture_output=True,text=True).stdout)'`,
          "ok",
        ],
        [
          "git",
          "git init -q . && git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m first && git log --oneline | wc -l",
          "1",
        ],
        [
          "gcc",
          `printf '#include <pthread.h>\\n#include <stdio.h>\\nstatic void*f(void*x){return x;}\\nint main(void){pthread_t t;pthread_create(&t,0,f,0);pthread_join(t,0);puts("ok");}' > a.c && gcc -pthread a.c -o a && ./a`,
          "ok",
        ],
        [
          "npm",
          "npm --offline --no-update-notifier init -y >/dev/null && npm --offline pkg get version",
          '"1.0.0"',
        ],
        [
          "tar",
          "mkdir -p d/e && echo ok > d/e/f && tar cf t.tar d && rm -r d && tar xf t.tar && cat d/e/f",
          "ok",
        ],
      ];
      for (const [tool, script, says] of works) {
        if (program(tool) === undefined) continue;
        const { code, stdout, stderr } = await inside(["sh", "-c", script], {
          more,
          filter: filterOf("x64"),
        });
        expect([tool, stdout.trim().split("\n").at(-1), code, code === 0 ? "" : stderr]).toEqual([
          tool,
          says,
          0,
          "",
        ]);
      }
    });
  },
);
