/** Kinds of addresses: host and port, URLs, domains, names of Kubernetes objects, accounts of the chain. */
import { isIP } from "node:net";
import { parseAddress } from "../market/address.ts";
import { Fault, listOf, readAsMarket, type TextKind, textKind } from "./kind.ts";
import { text, whole } from "./plain.ts";
import { hideCredentials, quote } from "./quote.ts";

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** A port where 0 has a meaning, as for "off". */
export const portOrZero = whole(0, 65_535, "a port number", "<port>");
export const port = whole(1, 65_535, "a port number", "<port>");

/** Where to listen: the host may be left out, as in ":8443", and port 0 takes a free one. */
export const listenAddress: TextKind<HostPort> = hostPortKind("an address like 0.0.0.0:8443", {
  emptyHost: "0.0.0.0",
  ports: portOrZero,
});

/** Where something else listens. */
export const endpoint: TextKind<HostPort> = hostPortKind("a host and port like 10.0.0.5:8080", { ports: port });

/** Several of those, as texts. */
export const endpoints: TextKind<readonly string[]> = listOf(
  textKind({ ...endpoint, show: String, read: textOfEndpoint }),
  "a list like 10.0.0.5:26379,10.0.0.6:26379",
);

function textOfEndpoint(given: string): string | Fault {
  const read = endpoint.read(given);
  return read instanceof Fault ? read : endpoint.show(read);
}

function hostPortKind(
  expects: string,
  { emptyHost, ports }: { readonly emptyHost?: string; readonly ports: TextKind<number> },
): TextKind<HostPort> {
  return textKind({
    expects,
    placeholder: "<host:port>",
    show: ({ host, port }) => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`,
    read(given) {
      const [, bracketed, bare = "", number] = /^(?:\[([^\]]+)\]|([^:[\]/@\s]*)):([^:]*)$/.exec(given) ?? [];
      if (number === undefined) return new Fault("it is not a host and a port");
      const host = bracketed ?? (bare || emptyHost);
      if (!host) return new Fault("it has no host");
      if (bracketed !== undefined ? isIP(bracketed) !== 6 : !isIP(host) && !isDomain(host)) {
        return new Fault(`${quote(host)} is not a host`);
      }
      const port = ports.read(number);
      return port instanceof Fault ? new Fault(`${quote(number)} is not a port: ${port.reason}`) : { host, port };
    },
  });
}

export interface UrlRules {
  /** A password has a setting of its own; in a URL it would end up in logs and on screens. */
  readonly credentials?: "refused";
  /** Nothing may stand after host and port. */
  readonly path?: "refused";
}

/** A URL with one of these schemes, kept as it was written. A password in it is not shown. */
export function url(schemes: readonly string[], example: string, rules: UrlRules = {}): TextKind<string> {
  return textKind({
    expects: `a URL like ${example}`,
    placeholder: "<url>",
    show: hideCredentials,
    read: (given) => faultOfUrl(given, schemes, rules) ?? given,
  });
}

function faultOfUrl(given: string, schemes: readonly string[], rules: UrlRules): Fault | undefined {
  const begins = schemes.some((scheme) => given.toLowerCase().startsWith(`${scheme}://`));
  if (!begins) return new Fault(`it must begin with ${schemes.map((scheme) => `${scheme}://`).join(" or ")}`);
  const parsed = URL.parse(given);
  if (!parsed?.hostname) return new Fault("it is not a URL");
  const { username, password, pathname, search, hash } = parsed;
  if (rules.credentials && (username || password)) {
    return new Fault("it holds a user name or a password", "Give those by settings of their own, and the URL without.");
  }
  if (rules.path && (pathname.length > 1 || search || hash)) return new Fault("it must end after host and port");
  return undefined;
}

const rpcUrl = url(["http", "https", "tcp"], "https://rpc.example.com:443");

/** "tcp://" is what the chain's own tools call plain HTTP. */
export const rpcUrls: TextKind<readonly string[]> = listOf(
  textKind({ ...rpcUrl, read: (given) => httpOf(rpcUrl.read(given)) }),
  "one URL or several like https://rpc.example.com:443,http://localhost:26657",
  1,
);

function httpOf(given: string | Fault): string | Fault {
  return given instanceof Fault ? given : given.replace(/^tcp:/i, "http:");
}

const domainLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i;

function isDomain(given: string): boolean {
  return given.length <= 253 && given.split(".").every((label) => domainLabel.test(label));
}

export const domain: TextKind<string> = textKind({
  expects: "a domain like ingress.example.com",
  placeholder: "<domain>",
  read: (given) => (isDomain(given) ? given.toLowerCase() : notADomain(given)),
});

export const hostname: TextKind<string> = textKind({
  expects: "a host name like provider.example.com",
  placeholder: "<host>",
  read: (given) => (isDomain(given) || isIP(given) ? given.toLowerCase() : notADomain(given)),
});

/** "example.com" is that name; ".example.com" is the name and everything below it. */
export const hostnamePatterns = listOf(
  textKind({
    expects: "a host name like www.example.com or .example.com",
    placeholder: "<host>",
    read: (given) => (isDomain(given.replace(/^\./, "")) ? given.toLowerCase() : notADomain(given)),
  }),
  "a list like www.example.com,.example.org",
);

function notADomain(given: string): Fault {
  const name = URL.canParse(given) ? new URL(given).hostname : "";
  return new Fault("it is not a domain name", isDomain(name) ? `Write only the name: ${name}` : undefined);
}

/** What Kubernetes calls a DNS label: namespaces and most objects are named so. */
export const kubernetesName = text(
  "a Kubernetes name like akash-gateway",
  /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/,
  "<name>",
);

export const account: TextKind<string> = textKind({
  expects: "an address like akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr",
  placeholder: "<address>",
  read: (given) => readAsMarket(() => parseAddress(given)),
});
