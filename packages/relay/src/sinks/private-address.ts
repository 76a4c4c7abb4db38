import { BlockList, isIPv6 } from "node:net";

// https://www.iana.org/assignments/iana-ipv4-special-registry and -ipv6-special-registry: what is not globally reachable, and multicast
const v4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];
const v6 = ["::/127", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "fc00::/7", "fe80::/10", "ff00::/8"];

const blocked = new BlockList();
for (const [list, family] of [
  [v4, "ipv4"],
  [v6, "ipv6"],
] as const)
  for (const range of list) {
    const [address = "", bits] = range.split("/");
    blocked.addSubnet(address, Number(bits), family);
  }

/** Whether an address is of a private network, of this machine, or of no machine. An IPv4 address that is written as IPv6 is what it stands for. */
export function isPrivate(address: string): boolean {
  if (!isIPv6(address)) return blocked.check(address, "ipv4");
  if (blocked.check(address, "ipv6")) return true;
  // NAT64 (RFC 6052), 6to4 (RFC 3056) and deprecated compatible addresses carry an IPv4 address; mapped ones BlockList knows
  const groups = groupsOf(address);
  const carried =
    groups[0] === 0x64 && groups[1] === 0xff9b
      ? groups.slice(6)
      : groups[0] === 0x2002
        ? groups.slice(1, 3)
        : groups.slice(0, 6).every((group) => group === 0)
          ? groups.slice(6)
          : undefined;
  if (carried === undefined) return false;
  const bytes = carried.flatMap((group) => [group >> 8, group & 255]);
  return blocked.check(bytes.join("."), "ipv4");
}

/** The eight groups of an IPv6 address, as the URL parser writes it. */
function groupsOf(address: string): number[] {
  const [plain = ""] = address.split("%");
  const canonical = new URL(`http://[${plain}]/`).hostname.slice(1, -1);
  const [head = "", tail] = canonical.split("::");
  const parse = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  if (tail === undefined) return parse(head);
  const [before, after] = [parse(head), parse(tail)];
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}
