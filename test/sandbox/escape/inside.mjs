// @ts-check
// Attempts that are commands inside the sandbox. Each prints ESCAPED when it got what it must not get; whether the host
// is as it was is looked at from outside, whatever it prints.
import { CANARY } from "./host.mjs";

/**
 * @typedef {{ class: string, name: string, command: string, needs?: "python3" | "gcc" }} Inside
 * @typedef {import("./host.mjs").Host} Host
 */

/** Shows a file, and says so when it can. */
const read = (/** @type {string} */ path) => `cat ${quoted(path)} 2>/dev/null | head -c 4096`;
const quoted = (/** @type {string} */ text) => `'${text.replaceAll("'", "'\\''")}'`;
const python = (/** @type {string} */ code) => `python3 -c ${quoted(code)}`;
/** A system call that must not succeed. */
const syscall = (/** @type {string} */ expression, fine = "False") =>
  python(`import ctypes,os
libc=ctypes.CDLL(None,use_errno=True)
r=libc.syscall(${expression})
e=ctypes.get_errno()
print("result",r,e)
if r>=0 and not (${fine}): print("ESCAPED")`);

/** @returns {Inside[]} */
export function insideAttempts(/** @type {Host} */ host) {
  const secret = host.secret;
  const out = host.target;
  /** @type {Inside[]} */
  const list = [];
  const add = (
    /** @type {string} */ of,
    /** @type {string} */ name,
    /** @type {string} */ command,
    /** @type {Inside["needs"]} */ needs = undefined,
  ) => list.push({ class: of, name, command, ...(needs && { needs }) });

  // -- reading files of the host
  for (const path of [
    secret,
    `/workspace/../../..${secret}`,
    `/proc/self/root${secret}`,
    `/proc/1/root${secret}`,
    `/proc/self/cwd/../../../../..${secret}`,
    `/dev/fd/../../..${secret}`,
    `//${secret.slice(1)}`,
    `/tmp/../${secret.slice(1)}`,
    `/proc/thread-self/root${secret}`,
  ])
    add("files: reading", `read ${path.replace(host.folder, "<host folder>")}`, read(path));
  for (const path of [
    "/etc/shadow",
    "/etc/sudoers",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/machine-id",
    "/var/lib/dpkg/status",
    "/var/log/dpkg.log",
  ])
    add("files: reading", `read ${path}`, `test -r ${path} && echo ESCAPED; true`);
  for (const folder of [
    "/root",
    "/home/root",
    "/boot",
    "/mnt",
    "/srv",
    "/media",
    "/var/spool",
    "/sys/kernel",
    "/run/systemd",
    "/lost+found",
  ])
    add("files: reading", `list ${folder}`, `test -n "$(ls -A ${folder} 2>/dev/null)" && echo ESCAPED; true`);
  add(
    "files: reading",
    "find the canary anywhere",
    `grep -rIl ${CANARY.slice(0, 12)} /etc /opt /srv /home /run /tmp /var 2>/dev/null | grep -v ^/proc | head -3 | sed 's/^/ESCAPED /'`,
  );
  add(
    "files: reading",
    "see the host's root directory",
    `ls -A / | grep -Ev '^(bin|dev|etc|home|lib|lib32|lib64|libx32|opt|proc|run|sbin|tmp|usr|var|workspace|sys|root)$' | sed 's/^/ESCAPED /'`,
  );

  // -- writing outside of the workspace
  for (const path of [
    "/usr/escaped",
    "/etc/escaped",
    "/bin/escaped",
    "/lib/escaped",
    "/opt/escaped",
    "/escaped",
    "/usr/local/bin/ls",
    `${out}/escaped`,
    `${out}/kept.txt`,
  ])
    add(
      "files: writing",
      `write ${path.replace(host.folder, "<host folder>")}`,
      `echo x > ${quoted(path)}; true`,
    );
  add(
    "files: writing",
    "append to the host's file by /proc/1/root",
    `echo x >> /proc/1/root${out}/kept.txt; true`,
  );
  add(
    "files: writing",
    "make a directory beside the workspace's",
    "mkdir -p /workspace/../escaped-dir /workspace/../../escaped-dir; true",
  );
  add(
    "files: writing",
    "write through a hard link to /usr",
    "ln /usr/bin/env /workspace/env && echo x >> /workspace/env && echo ESCAPED; true",
  );
  add(
    "files: writing",
    "change the mode of /usr/bin/env",
    "chmod 777 /usr/bin/env 2>/dev/null && echo ESCAPED; true",
  );
  add(
    "files: writing",
    "change the owner of /usr/bin/env",
    "chown 1:1 /usr/bin/env 2>/dev/null && echo ESCAPED; true",
  );
  add(
    "files: writing",
    "replace /etc/passwd",
    "mv /etc/passwd /etc/passwd.old 2>/dev/null && echo ESCAPED; true",
  );
  for (const path of [
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sysrq-trigger",
    "/proc/sys/kernel/modprobe",
    "/sys/power/state",
    "/sys/kernel/mm/ksm/run",
  ])
    add(
      "files: writing",
      `write ${path}`,
      `value=$(cat ${path} 2>/dev/null); echo "$value" > ${path} 2>/dev/null && echo ESCAPED; true`,
    );

  // -- links made by the command itself
  for (const [name, make, use] of [
    ["a link to the secret", `ln -sfn ${quoted(secret)} l1`, "cat l1"],
    [
      "a link to the host's folder",
      `ln -sfn ${quoted(host.folder)} l2`,
      "cat l2/secret.txt; echo x > l2/target/new",
    ],
    ["a link to /", "ln -sfn / l3", `cat l3${secret}`],
    ["a chain of links", `ln -sfn c2 c1; ln -sfn c3 c2; ln -sfn ${quoted(secret)} c3`, "cat c1"],
    ["a relative link out", `ln -sfn ../../../..${secret} l4`, "cat l4"],
    ["a link to /proc/1/root", "ln -sfn /proc/1/root l5", `cat l5${secret}`],
    [
      "a link in a name that looks like a directory",
      `mkdir -p d; ln -sfn ${quoted(out)} d/sub`,
      "echo x > d/sub/new; rm -f d/sub/kept.txt",
    ],
  ])
    add("links", `${name}, inside`, `${make}; ${use} 2>/dev/null; true`);

  // -- sockets
  const connect = (/** @type {string} */ family, /** @type {string} */ address) =>
    python(`import socket
s=socket.socket(${family},socket.SOCK_STREAM); s.settimeout(2)
s.connect(${address}); print("ESCAPED",s.recv(100))`);
  add(
    "sockets",
    "a socket of the host by its path",
    connect("socket.AF_UNIX", JSON.stringify(host.socket)),
    "python3",
  );
  add(
    "sockets",
    "a socket of the host through a link",
    `ln -sfn ${quoted(host.socket)} s1; ${connect("socket.AF_UNIX", '"/workspace/s1"')}`,
    "python3",
  );
  add(
    "sockets",
    "an abstract socket of the host",
    // Node fills the whole address with zeros, so whoever wants to meet it has to do the same.
    connect("socket.AF_UNIX", `"\\0${host.abstract}".ljust(108,"\\0")`),
    "python3",
  );
  for (const path of [
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/var/run/nscd/socket",
  ])
    add("sockets", `connect to ${path}`, connect("socket.AF_UNIX", JSON.stringify(path)), "python3");
  for (const [name, family, type] of [
    ["AF_VSOCK, which no network namespace holds", 40, 1],
    ["AF_PACKET", 17, 3],
    ["AF_ALG", 38, 5],
    ["AF_KEY", 15, 3],
    ["AF_BLUETOOTH", 31, 3],
    ["AF_XDP", 44, 3],
    ["a raw IP socket", 2, 3],
    ["AF_NETLINK for audit", 16, 3],
  ])
    add(
      "sockets",
      `open ${name}`,
      name === "AF_NETLINK for audit"
        ? syscall("41,16,3,9")
        : syscall(`41,${family},${type},${family === 2 ? 1 : 0}`),
      "python3",
    );

  // -- network
  for (const [name, address] of [
    ["127.0.0.1", `("127.0.0.1",${host.port})`],
    ["localhost by name", `("localhost",${host.port})`],
    ["0.0.0.0", `("0.0.0.0",${host.port})`],
    ["127.1.2.3", `("127.1.2.3",${host.port})`],
    ...host.addresses
      .slice(0, 3)
      .map((address) => [
        `the host's address ${address.includes(":") ? "(v6)" : "(v4)"}`,
        `(${JSON.stringify(address)},${host.port})`,
      ]),
    ["the metadata service", '("169.254.169.254",80)'],
    ["a public address", '("1.1.1.1",53)'],
    ["10.0.0.1", '("10.0.0.1",80)'],
  ])
    add(
      "network",
      `TCP to ${name}`,
      connect(
        String(address).includes(":", 2) && String(address).includes('"fe')
          ? "socket.AF_INET6"
          : "socket.AF_INET",
        String(address),
      ),
      "python3",
    );
  add("network", "TCP to ::1", connect("socket.AF_INET6", `("::1",${host.port6})`), "python3");
  add(
    "network",
    "TCP by the shell",
    `(exec 3<>/dev/tcp/127.0.0.1/${host.port} && echo ESCAPED && cat <&3) 2>/dev/null; true`,
  );
  add(
    "network",
    "a name server by UDP",
    python(
      'import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.settimeout(2)\ns.sendto(b"\\0"*12,("8.8.8.8",53)); print(s.recv(10)); print("ESCAPED")',
    ),
    "python3",
  );
  add(
    "network",
    "more than a loopback interface",
    "ls /sys/class/net 2>/dev/null | grep -v '^lo$' | sed 's/^/ESCAPED /'; tail -n +3 /proc/net/dev | grep -v ' lo:' | grep -v '^ *lo:' | sed 's/^/ESCAPED /'",
  );
  add("network", "bring an interface up", "ip link add d0 type dummy 2>/dev/null && echo ESCAPED; true");

  // -- /proc
  add(
    "proc",
    "the environment of every process",
    `cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a ${CANARY.slice(0, 12)}`,
  );
  add(
    "proc",
    "/proc/1/environ",
    "tr '\\0' '\\n' < /proc/1/environ | grep -Eai 'key|token|secret|canary|home=/root|path=.*npm' | sed 's/^/ESCAPED /'",
  );
  add(
    "proc",
    "the command lines of the host",
    `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -aE 'vitest|sleep 3600' | grep -av grep | sed 's/^/ESCAPED /'`,
  );
  add(
    "proc",
    "a process of the host by its number",
    `test -d /proc/${host.pid}/fd && readlink /proc/${host.pid}/exe | grep sleep && echo ESCAPED; true`,
  );
  add("proc", "/proc/kcore", "head -c 16 /proc/kcore 2>/dev/null | grep -aq ELF && echo ESCAPED; true");
  add(
    "proc",
    "/proc/1/root leads elsewhere",
    `ls /proc/1/root${host.folder} 2>/dev/null && echo ESCAPED; true`,
  );
  add(
    "proc",
    "/proc/1/cwd leads elsewhere",
    `(cd /proc/1/cwd && ls -A | grep -E 'package.json|node_modules') 2>/dev/null && echo ESCAPED; true`,
  );
  add(
    "proc",
    "/proc/*/root of all",
    `for p in /proc/[0-9]*; do cat $p/root${secret} 2>/dev/null; done; true`,
  );
  add(
    "proc",
    "/proc/*/cwd of all",
    `for p in /proc/[0-9]*; do cat $p/cwd/../../../..${secret} 2>/dev/null; done; true`,
  );
  for (const name of [
    ...["cmdline", "locks", "slabinfo", "vmallocinfo", "pagetypeinfo", "kpagecount", "kallsyms", "iomem"],
    ...["interrupts", "diskstats"],
  ])
    add("proc", `/proc/${name}`, `head -c 64 /proc/${name} 2>/dev/null | grep -aq . && echo ESCAPED; true`);
  add("proc", "keys of the kernel", syscall("248,0,0,0,0,0"), "python3");
  add("proc", "/dev/mem", "head -c 1 /dev/mem 2>/dev/null | grep -q . && echo ESCAPED; true");
  add(
    "proc",
    "the kernel's log",
    "dmesg 2>/dev/null | head -1 | grep -q . && echo ESCAPED; head -c 10 /dev/kmsg 2>/dev/null | grep -q . && echo ESCAPED; true",
  );
  add(
    "proc",
    "paths of the host in the mounts",
    `grep -E '${host.folder}|/root/' /proc/self/mountinfo | sed 's/^/ESCAPED /'`,
  );
  add(
    "proc",
    "safer from the killer than the host",
    "echo -1000 > /proc/self/oom_score_adj 2>/dev/null && echo ESCAPED; true",
  );

  // -- leases and watches: what stalls a program of the host, or tells what it does
  const control = (/** @type {string} */ path, /** @type {string} */ request) =>
    python(`import fcntl,os
fd=os.open("${path}",os.O_RDONLY)
try:
  fcntl.fcntl(fd,${request}); print("ESCAPED")
except OSError as e: print(e)`);
  // A program that nobody runs: of one in use the kernel refuses a write lease.
  for (const [name, request] of [
    ["a write lease on a program of the host", "fcntl.F_SETLEASE,fcntl.F_WRLCK"],
    ["a read lease on a program of the host", "fcntl.F_SETLEASE,fcntl.F_RDLCK"],
  ])
    add("leases and watches", String(name), control("/usr/bin/tput", String(request)), "python3");
  add(
    "leases and watches",
    "be told what happens in /usr/bin (F_NOTIFY)",
    control("/usr/bin", "fcntl.F_NOTIFY,fcntl.DN_ACCESS"),
    "python3",
  );
  add("leases and watches", "watch all files (fanotify)", syscall("300,0,0"), "python3");
  add("leases and watches", "watch files without a filter (fanotify)", syscall("300,0x200,0"), "python3");

  // -- the environment
  add("environment", "the canary", `env | grep ${CANARY.slice(0, 12)}; printenv OPENRATH_ESCAPE_CANARY`);
  for (const name of [
    "SSH_AUTH_SOCK",
    "AWS_SECRET_ACCESS_KEY",
    "GITHUB_TOKEN",
    "npm_config_userconfig",
    "NODE_OPTIONS",
    "LD_PRELOAD",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "SUDO_USER",
  ])
    add("environment", `the variable ${name}`, `printenv ${name} | sed 's/^/ESCAPED /'`);
  add(
    "environment",
    "by a program that asks the kernel",
    python('import os\nprint([v for v in os.environ.values() if "canary-" in v])'),
    "python3",
  );

  // -- signals and other processes
  add("signals", "kill a process of the host", `kill -9 ${host.pid} 2>/dev/null && echo ESCAPED; true`);
  add("signals", "kill the runtime", `kill -9 ${process.pid} 2>/dev/null && echo ESCAPED; true`);
  add(
    "signals",
    "signal everything there is",
    `(trap '' TERM; kill -USR2 -${host.pid}) 2>/dev/null && echo ESCAPED; true`,
  );
  add("signals", "trace a process of the host", syscall(`101,16,${host.pid},0,0`), "python3");
  add(
    "signals",
    "read the memory of a process of the host",
    python(`import ctypes
libc=ctypes.CDLL(None,use_errno=True)
class Iov(ctypes.Structure): _fields_=[("base",ctypes.c_void_p),("len",ctypes.c_size_t)]
here=ctypes.create_string_buffer(64)
for line in open("/proc/self/maps"):
  at=int(line.split("-")[0],16); break
own=Iov(ctypes.cast(here,ctypes.c_void_p),64); other=Iov(at,64)
r=libc.process_vm_readv(${host.pid},ctypes.byref(own),1,ctypes.byref(other),1,0)
print(r)
if r>0: print("ESCAPED")`),
    "python3",
  );
  add(
    "signals",
    "limit a process of the host",
    `prlimit --pid ${host.pid} --nofile=1 2>/dev/null && echo ESCAPED; true`,
  );
  add("signals", "a handle on a process of the host", syscall(`434,${host.pid},0`), "python3");
  add(
    "signals",
    "slow a process of the host down",
    `renice 19 -p ${host.pid} 2>/dev/null && echo ESCAPED; true`,
  );

  // -- descriptors
  add(
    "descriptors",
    "more than the three",
    "for fd in $(ls /proc/self/fd); do case $fd in 0|1|2|3) ;; *) readlink /proc/self/fd/$fd | grep -v '^/proc/' | sed 's/^/ESCAPED /';; esac; done",
  );
  add(
    "descriptors",
    "read every descriptor",
    `for fd in 3 4 5 6 7 8 9 10 11 12 13 14 15 20 30 63 255; do timeout 1 cat <&$fd 2>/dev/null; done; true`,
  );
  add(
    "descriptors",
    "those of the first process",
    "ls -l /proc/1/fd 2>/dev/null | grep -E 'openrath-escape|/root/' | sed 's/^/ESCAPED /'; true",
  );
  add(
    "descriptors",
    "read those of the first process",
    `for fd in /proc/1/fd/*; do timeout 1 cat $fd 2>/dev/null | head -c 1000 | grep -a ${CANARY.slice(0, 12)}; done; true`,
  );
  add(
    "descriptors",
    "leave by a directory that is open",
    `for fd in 3 4 5 6 7 8 9; do (cd /proc/self/fd/$fd/.. && cat .${secret}) 2>/dev/null; done; true`,
  );
  add(
    "descriptors",
    "inherit the runtime's",
    "ls /proc/self/fd | wc -l | awk '$1 > 6 { print \"ESCAPED \" $1 }'",
  );

  // -- mounts
  for (const [name, command] of [
    ["mount a tmpfs", "mkdir -p m && mount -t tmpfs none m"],
    ["bind / somewhere", "mkdir -p m && mount --bind / m"],
    ["make /usr writable", "mount -o remount,rw /usr"],
    ["make / writable", "mount -o remount,rw /"],
    ["take /usr away", "umount -l /usr"],
    ["take /proc away", "umount -l /proc"],
    ["mount a proc", "mkdir -p m && mount -t proc proc m"],
    ["mount an overlay", "mkdir -p l u w m && mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w m"],
    ["mount sysfs", "mkdir -p m && mount -t sysfs none m"],
    ["mount cgroups", "mkdir -p m && mount -t cgroup2 none m"],
    ["change the root", "chroot / /bin/true"],
    ["make a block device", "mknod disk b 254 0 && head -c 1 disk"],
    ["make a character device", "mknod mem c 1 1 && head -c 1 mem"],
  ])
    add("mounts", String(name), `${command} 2>/dev/null && echo ESCAPED; true`);
  add("mounts", "mount by the new calls", syscall("430,b'tmpfs',0"), "python3");
  add("mounts", "take a tree of mounts", syscall("428,-100,b'/',1"), "python3");
  add("mounts", "pivot_root", syscall("155,b'/',b'/tmp'"), "python3");
  add("mounts", "open a file by its handle", syscall("304,-100,0,0"), "python3");

  // -- namespaces and privileges
  for (const [name, command] of [
    ["a user namespace", "unshare -U true"],
    ["a user namespace with root in it", "unshare -Ur true"],
    ["a mount namespace", "unshare -m true"],
    ["a network namespace", "unshare -n true"],
    ["a PID namespace", "unshare -pf true"],
    ["the namespaces of the first process", "nsenter -t 1 -a true"],
    ["become root", "su -c true root </dev/null"],
    ["sudo", "sudo -n true"],
    ["set the time", "date -s '2001-01-01'"],
    ["set the name of the machine", "hostname escaped"],
    ["load a module", "modprobe dummy"],
    ["nested bubblewrap", "bwrap --ro-bind / / --unshare-user true"],
  ])
    add("namespaces and privileges", String(name), `${command} >/dev/null 2>&1 && echo ESCAPED; true`);
  add(
    "namespaces and privileges",
    "capabilities",
    "grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000 | sed 's/^/ESCAPED /'",
  );
  add(
    "namespaces and privileges",
    "new privileges by setuid programs",
    "grep NoNewPrivs /proc/self/status | grep -v 1 | sed 's/^/ESCAPED /'",
  );
  add(
    "namespaces and privileges",
    "a filter of system calls is there",
    "grep '^Seccomp:' /proc/self/status | grep -v 2 | sed 's/^/ESCAPED /'",
  );
  add(
    "namespaces and privileges",
    "setuid(0)",
    python('import os\ntry:\n  os.setuid(0); print("ESCAPED")\nexcept OSError as e: print(e)'),
    "python3",
  );
  for (const [name, expression] of [
    ["clone a user namespace", "56,0x10000011,0,0,0,0"],
    ["unshare a user namespace", "272,0x10000000"],
    ["clone3", "435,0,0"],
    ["io_uring", "425,1,0"],
    ["bpf", "321,0,0,0"],
    ["perf_event_open", "298,0,0,-1,-1,0"],
    ["userfaultfd", "323,0"],
    ["add a key", "248,b'user',b'a',b'b',1,-3"],
    ["ask for a key", "249,b'user',b'a',0,0"],
    ["kexec", "246,0,0,0,0"],
    ["reboot", "169,0,0,0,0"],
    ["swapon", "167,b'/workspace/x',0"],
    ["a call of the x32 ABI", "0x40000000+39"],
    ["setns", "308,0,0"],
    ["open_by_handle_at", "304,0,0,0"],
    ["iopl", "172,3"],
    ["settimeofday", "164,0,0"],
  ])
    add("namespaces and privileges", String(name), syscall(String(expression)), "python3");
  add(
    "namespaces and privileges",
    "put words into the terminal",
    python(
      "import fcntl,termios,os\nfd=os.open('/dev/tty',os.O_RDWR)\nfcntl.ioctl(fd,termios.TIOCSTI,b'x'); print('ESCAPED')",
    ),
    "python3",
  );
  return list;
}
