/**
 * The system calls that commands of a sandbox cannot make, as a program for the kernel's filter (classic BPF), which
 * bubblewrap installs right before it starts a command. Namespaces hide what has one; this list is for what has none
 * (keyrings, the clock, kernel modules, the hypervisor's sockets) and for large, young parts of the kernel that no build
 * or test needs (io_uring, bpf, new mounts, nested namespaces), where most ways out of sandboxes were found.
 *
 * Undefined where we have no list for the processor. Everything else about a sandbox holds there too.
 */
export function seccompFilter(architecture: string = process.arch): Uint8Array | undefined {
  const machine = MACHINES.get(architecture);
  return machine === undefined ? undefined : encode(program(machine));
}

type Machine = {
  /** The kernel's number of this architecture; a process can enter by another one, where numbers mean other calls. */
  readonly audit: number;
  /** Which of the two numbers in the tables below is this machine's. */
  readonly column: 0 | 1;
};

const MACHINES: ReadonlyMap<string, Machine> = new Map([
  ["x64", { audit: 0xc000003e, column: 0 }],
  ["arm64", { audit: 0xc00000b7, column: 1 }],
]);

/** The newest call we know. Later ones do not exist inside, nor do the x32 calls of x64. */
const NEWEST = 469;

type Numbers = readonly [x64: number | null, arm64: number | null];

/** Refused with EPERM, whatever their arguments. */
const FORBIDDEN: { readonly [name: string]: Numbers } = {
  // Keyrings belong to a user of the host, not to a namespace.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // The kernel itself.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  create_module: [174, null],
  get_kernel_syms: [177, null],
  query_module: [178, null],
  syslog: [103, 116],
  acct: [163, 89],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  nfsservctl: [180, 42],
  lookup_dcookie: [212, 18],
  vhangup: [153, 58],
  uselib: [134, null],
  _sysctl: [156, null],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
  // The clock of the host.
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  // Mounts, and files by other ways than a path.
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  fanotify_init: [300, 262],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  // Other namespaces.
  setns: [308, 268],
};

/** Refused as if the kernel did not have them, because programs then do without: the filter cannot see what they ask for. */
const MISSING: { readonly [name: string]: Numbers } = {
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  clone3: [435, 435],
  openat2: [437, 437],
};

type Test = "equal" | "above" | "any-bit";
/** One instruction: what to do, how far to jump if a test holds and if not, and its number. */
type Instruction = readonly [code: number, yes: number, no: number, value: number];

const [EPERM, ENOSYS, EPROTONOSUPPORT, EAFNOSUPPORT] = [1, 38, 93, 97];
const ALLOW: Instruction = [0x06, 0, 0, 0x7fff0000];
const KILL: Instruction = [0x06, 0, 0, 0x80000000];
const CODES: { readonly [test in Test]: number } = { equal: 0x15, above: 0x25, "any-bit": 0x45 };

/** The namespaces of mounts, groups, names, messages, users, processes and networks; that of time has a bit of its own. */
const NEW_NAMESPACES = 0x7e020000;
const NEW_TIME_NAMESPACE = 0x80;
const SETUID = 0o4000;
/** TIOCSTI, TIOCLINUX, TIOCSETD: a terminal must not be typed into, nor told to mean its bytes differently. */
const TERMINAL_INPUT = [0x5412, 0x541c, 0x5423];
/** F_SETLEASE and F_NOTIFY: opening a leased file blocks, and root owns the host's programs. */
const LEASES = [1024, 1026];

function program({ audit, column }: Machine): readonly Instruction[] {
  const number = (numbers: Numbers) => numbers[column];
  const call = (numbers: Numbers, then: readonly Instruction[]) => {
    const one = number(numbers);
    return one === null ? [] : when("equal", one, then);
  };
  const all = (calls: { readonly [name: string]: Numbers }, errno: number) =>
    Object.values(calls).flatMap((numbers) => call(numbers, refuse(errno)));
  return [
    load(4),
    ...when("equal", audit, [
      load(0),
      ...when("above", NEWEST, refuse(ENOSYS)),
      // Those that are made often and looked into come first: the kernel remembers by itself which others are let through.
      ...call([257, 56], creating(2)),
      ...call([2, null], creating(1)),
      ...call([16, 29], values(1, TERMINAL_INPUT)),
      ...call([72, 25], values(1, LEASES)),
      ...call([56, 220], flags(0, NEW_NAMESPACES)),
      ...call([41, 198], family()),
      ...call([53, 199], family()),
      ...call([272, 97], flags(0, NEW_NAMESPACES | NEW_TIME_NAMESPACE)),
      // A setuid file would run as its owner, who on the host is the user that runs us.
      ...call([90, null], flags(1, SETUID)),
      ...call([91, 52], flags(1, SETUID)),
      ...call([268, 53], flags(2, SETUID)),
      ...call([452, 452], flags(2, SETUID)),
      ...call([85, null], flags(1, SETUID)),
      ...call([133, null], flags(1, SETUID)),
      ...call([259, 33], flags(2, SETUID)),
      ...all(FORBIDDEN, EPERM),
      ...all(MISSING, ENOSYS),
      ALLOW,
    ]),
    KILL,
  ];
}

/** Opening a file that may be created by it: only then is the next argument its mode. */
function creating(argument: number): readonly Instruction[] {
  const [CREATE, TEMPORARY] = [0x40, 0x400000];
  return [
    load(argumentAt(argument)),
    ...when("any-bit", CREATE | TEMPORARY, flags(argument + 1, SETUID)),
    ALLOW,
  ];
}

/** Refused if any of these bits is set in an argument. */
function flags(argument: number, bits: number): readonly Instruction[] {
  return [load(argumentAt(argument)), ...when("any-bit", bits, refuse(EPERM)), ALLOW];
}

/** Refused if an argument is one of these. */
function values(argument: number, refused: readonly number[]): readonly Instruction[] {
  return [
    load(argumentAt(argument)),
    ...refused.flatMap((value) => when("equal", value, refuse(EPERM))),
    ALLOW,
  ];
}

/**
 * The allowed sockets: unix, internet (usual protocols), and routing tables, which list interfaces. Others
 * reach past the network namespace (AF_VSOCK) or into rarely used kernel code (AF_ALG, AF_PACKET).
 */
function family(): readonly Instruction[] {
  const [UNIX, INET, INET6, NETLINK, ROUTE] = [1, 2, 10, 16, 0];
  const protocol = [
    load(argumentAt(2)),
    ...[0, 1, 6, 17, 58].flatMap((one) => when("equal", one, [ALLOW])),
    ...refuse(EPROTONOSUPPORT),
  ];
  const internet = [
    load(argumentAt(1)),
    [0x54, 0, 0, 0xf] as const, // without the flags that are passed beside the type
    ...[1, 2].flatMap((type) => when("equal", type, protocol)),
    ...refuse(EPROTONOSUPPORT),
  ];
  const routes = [load(argumentAt(2)), ...when("equal", ROUTE, [ALLOW]), ...refuse(EPROTONOSUPPORT)];
  return [
    load(argumentAt(0)),
    ...when("equal", UNIX, [ALLOW]),
    ...when("equal", INET, internet),
    ...when("equal", INET6, internet),
    ...when("equal", NETLINK, routes),
    ...refuse(EAFNOSUPPORT),
  ];
}

function load(offset: number): Instruction {
  return [0x20, 0, 0, offset];
}

/** The lower half of an argument. The kernel takes all those we look at as 32 bits and ignores the rest. */
function argumentAt(argument: number): number {
  return 16 + 8 * argument;
}

/** The instructions for a test that holds; they must end in a verdict. Otherwise the program goes on after it. */
function when(test: Test, value: number, then: readonly Instruction[]): readonly Instruction[] {
  // A jump is at most 255 instructions long; over a longer part it needs a second one, which has no such bound.
  return then.length <= 255
    ? [[CODES[test], 0, then.length, value], ...then]
    : [[CODES[test], 1, 0, value], [0x05, 0, 0, then.length], ...then];
}

function refuse(errno: number): readonly Instruction[] {
  return [[0x06, 0, 0, 0x00050000 | errno]];
}

/** As the kernel reads it: two bytes, one, one, four. Both architectures are little endian. */
function encode(instructions: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(8 * instructions.length);
  const view = new DataView(bytes.buffer);
  instructions.forEach(([code, yes, no, value], place) => {
    view.setUint16(8 * place, code, true);
    view.setUint8(8 * place + 2, yes);
    view.setUint8(8 * place + 3, no);
    view.setUint32(8 * place + 4, value, true);
  });
  return bytes;
}
