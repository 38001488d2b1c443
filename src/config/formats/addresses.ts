/** Kinds of addresses: host and port, URLs, domains, names of Kubernetes objects, accounts of the chain. */
import { isIP } from "node:net";
import { parseAddress } from "../../market/address.ts";
import {
  type AddressRange,
  addressRangeText,
  countAddresses,
  rangeText,
  readAddressRange,
  readRange,
} from "../../market/ip-range.ts";
import { hideCredentials, quote } from "../problem.ts";
import { BadValue, commaList, readAsMarket, type TextFormat, textFormat } from "./format.ts";
import { freeText, whole } from "./plain.ts";

interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** A port where 0 has a meaning, as for "off". */
export const portOrZero = whole(0, 65_535, "a port number", "<port>");
export const port = whole(1, 65_535, "a port number", "<port>");

/** Where to listen: the host may be left out, as in ":8443", and port 0 takes a free one. */
export const listenAddress: TextFormat<HostPort> = hostPortFormat("an address like 0.0.0.0:8443", {
  emptyHost: "0.0.0.0",
  ports: portOrZero,
});

/** Where something else listens. */
export const endpoint: TextFormat<HostPort> = hostPortFormat("a host and port like 10.0.0.5:8080", { ports: port });

/** Several of those, as texts. */
export const endpoints: TextFormat<readonly string[]> = commaList(
  textFormat({ ...endpoint, show: String, read: textOfEndpoint }),
  "a list like 10.0.0.5:26379,10.0.0.6:26379",
);

function textOfEndpoint(given: string): string | BadValue {
  const read = endpoint.read(given);
  return read instanceof BadValue ? read : endpoint.show(read);
}

function hostPortFormat(
  expects: string,
  { emptyHost, ports }: { readonly emptyHost?: string; readonly ports: TextFormat<number> },
): TextFormat<HostPort> {
  return textFormat({
    expects,
    placeholder: "<host:port>",
    show: ({ host, port }) => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`,
    read(given) {
      const [, bracketed, bare = "", number] = /^(?:\[([^\]]+)\]|([^:[\]/@\s]*)):([^:]*)$/.exec(given) ?? [];
      if (number === undefined) return new BadValue("it is not a host and a port");
      const host = bracketed ?? (bare || emptyHost);
      if (!host) return new BadValue("it has no host");
      if (bracketed !== undefined ? isIP(bracketed) !== 6 : !isIP(host) && !isDomain(host)) {
        return new BadValue(`${quote(host)} is not a host`);
      }
      const port = ports.read(number);
      return port instanceof BadValue ? new BadValue(`${quote(number)} is not a port: ${port.reason}`) : { host, port };
    },
  });
}

interface UrlRules {
  /** A password has a setting of its own; in a URL it would end up in logs and on screens. */
  readonly credentials?: "refused";
  /** Nothing may stand after host and port. */
  readonly path?: "refused";
}

/** A URL with one of these schemes, kept as it was written. A password in it is not shown. */
export function url(schemes: readonly string[], example: string, rules: UrlRules = {}): TextFormat<string> {
  return textFormat({
    expects: `a URL like ${example}`,
    placeholder: "<url>",
    show: hideCredentials,
    read: (given) => badUrl(given, schemes, rules) ?? given,
  });
}

function badUrl(given: string, schemes: readonly string[], rules: UrlRules): BadValue | undefined {
  const begins = schemes.some((scheme) => given.toLowerCase().startsWith(`${scheme}://`));
  if (!begins) return new BadValue(`it must begin with ${schemes.map((scheme) => `${scheme}://`).join(" or ")}`);
  const parsed = URL.parse(given);
  if (!parsed?.hostname) return new BadValue("it is not a URL");
  const { username, password, pathname, search, hash } = parsed;
  if (rules.credentials && (username || password)) {
    return new BadValue(
      "it holds a user name or a password",
      "Give those by settings of their own, and the URL without.",
    );
  }
  if (rules.path && (pathname.length > 1 || search || hash)) return new BadValue("it must end after host and port");
  return undefined;
}

const plainUrl = url(["https", "http"], "https://alerts.example.com/hook");

/** Who is told of something. Those of chat programs have a secret in their path, so only where it is on the network is shown. */
export const webhook: TextFormat<string> = textFormat({
  ...plainUrl,
  isHidden: true,
  show: (given) => `${URL.parse(given)?.origin ?? ""}/(hidden)`,
});

const rpcUrl = url(["http", "https", "tcp"], "https://rpc.example.com:443");

/** "tcp://" is what the chain's own tools call plain HTTP. */
export const rpcUrls: TextFormat<readonly string[]> = commaList(
  textFormat({ ...rpcUrl, read: (given) => httpOf(rpcUrl.read(given)) }),
  "one URL or several like https://rpc.example.com:443,http://localhost:26657",
  1,
);

function httpOf(given: string | BadValue): string | BadValue {
  return given instanceof BadValue ? given : given.replace(/^tcp:/i, "http:");
}

const domainLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i;

function isDomain(given: string): boolean {
  return given.length <= 253 && given.split(".").every((label) => domainLabel.test(label));
}

export const domain: TextFormat<string> = textFormat({
  expects: "a domain like ingress.example.com",
  placeholder: "<domain>",
  read: (given) => (isDomain(given) ? given.toLowerCase() : notADomain(given)),
});

export const hostname: TextFormat<string> = textFormat({
  expects: "a host name like provider.example.com",
  placeholder: "<host>",
  read: (given) => (isDomain(given) || isIP(given) ? given.toLowerCase() : notADomain(given)),
});

/** "example.com" is that name; ".example.com" is the name and everything below it; "*.example.com" is the wildcard alone. */
export const hostnamePatterns = commaList(
  textFormat({
    expects: "a host name like www.example.com or .example.com",
    placeholder: "<host>",
    read: (given) => (isDomain(given.replace(/^\*?\./, "")) ? given.toLowerCase() : notADomain(given)),
  }),
  "a list like www.example.com,.example.org",
);

function notADomain(given: string): BadValue {
  const name = URL.canParse(given) ? new URL(given).hostname : "";
  return new BadValue("it is not a domain name", isDomain(name) ? `Write only the name: ${name}` : undefined);
}

/** What Kubernetes calls a DNS label: namespaces and most objects are named so. */
export const kubernetesName = freeText(
  "a Kubernetes name like akash-gateway",
  /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/,
  "<name>",
);

export const account: TextFormat<string> = textFormat({
  expects: "an address like akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr",
  placeholder: "<address>",
  read: (given) => readAsMarket(() => parseAddress(given)),
});

const ipRange: TextFormat<string> = textFormat({
  expects: "a range of addresses like 10.96.0.0/12 or fd00::/108",
  placeholder: "<range>",
  read(given) {
    const range = readAsMarket(() => readRange(given));
    if (range instanceof BadValue) return range;
    return range.prefix === 0 ? new BadValue("it is all addresses that there are") : rangeText(range);
  },
});

export const ipRanges = commaList(ipRange, "a list like 10.96.0.0/12,203.0.113.0/24");

/** More than one pool of addresses ever has; they are gone through one by one. */
const mostAddresses = 2n ** 20n;

const addressRange: TextFormat<AddressRange> = textFormat({
  expects: "a range of addresses like 203.0.113.0/28 or 203.0.113.5-203.0.113.9",
  placeholder: "<range>",
  show: addressRangeText,
  read(given) {
    const range = readAsMarket(() => readAddressRange(given));
    if (range instanceof BadValue) return range;
    return countAddresses([range]) > mostAddresses
      ? new BadValue(`it has more than ${mostAddresses} addresses`)
      : range;
  },
});

const rangeList = commaList(addressRange, "a list like 203.0.113.0/28,198.51.100.5-198.51.100.9");

/** Of one family: a Service has one, and would have to take whichever comes next. */
export const addressRanges: TextFormat<readonly AddressRange[]> = textFormat({
  ...rangeList,
  read(given) {
    const ranges = rangeList.read(given);
    if (ranges instanceof BadValue || new Set(ranges.map(({ family }) => family)).size <= 1) return ranges;
    return new BadValue("it has addresses of IPv4 and of IPv6");
  },
});

/** It is the value of a label. */
const controllerName = freeText("a name like ingress-nginx", /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, "<name>");

type IngressController = { readonly name: string } | { readonly range: string };

/** By name, or by the addresses that its requests come from. */
export const ingressControllers = commaList(
  textFormat<IngressController>({
    expects: "a name like ingress-nginx, or a range of addresses like 10.0.0.0/24",
    placeholder: "<name>",
    show: (controller) => ("name" in controller ? controller.name : controller.range),
    read(given) {
      if (given.includes("/") || isIP(given) !== 0) {
        const range = ipRange.read(given);
        return range instanceof BadValue ? range : { range };
      }
      const name = controllerName.read(given);
      return name instanceof BadValue ? name : { name };
    },
  }),
  "a list like ingress-nginx,traefik,10.0.0.0/24",
);
