import { BlockList, isIPv4, isIPv6 } from "node:net";

/** Whether an address is one of the internet: the kind that everybody can reach, and nothing that is special. */
export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !SPECIAL.check(address, "ipv4");
  // All that is public begins like this. Other beginnings hold addresses of version 4 in disguise, too.
  return (
    isIPv6(address) &&
    !address.includes("%") &&
    GLOBAL.check(address, "ipv6") &&
    !SPECIAL_6.check(address, "ipv6")
  );
}

// Three lists, because one list takes addresses of version 4 for their form in version 6.
const SPECIAL = listOf("ipv4", [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...[
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
  ],
  ...["192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
  // Public by its number, yet it is a cloud's own service for the machines in it.
  "168.63.129.16/32",
]);
const GLOBAL = listOf("ipv6", ["2000::/3"]);
const SPECIAL_6 = listOf("ipv6", ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]);

function listOf(family: "ipv4" | "ipv6", networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}
