import { type Errors, entry, settingsEntry } from "./entry.ts";

/** Their words are the network's wherever it has some: tenants' tools look for them. */
export const manifestErrors = {
  AKP_MANIFEST_TOO_LARGE: entry(413, "RESOURCE_EXHAUSTED", {
    message: "http: request body too large",
    advice: "A manifest has at most {mostBytes} bytes. Put large files into the image or fetch them from within it.",
  }),
  AKP_MANIFEST_UNREADABLE: entry(422, "INVALID_ARGUMENT", {
    message: "{reason}",
    advice: "Send the manifest as JSON, in the form that `akash-provider sdl-to-manifest` prints.",
  }),
  AKP_MANIFEST_INVALID: entry(422, "INVALID_ARGUMENT", {
    message: "{reason}",
    advice:
      "Correct the SDL, update the deployment with it and send its manifest again. Groups that differ from those on chain need a new deployment.",
  }),
  AKP_MANIFEST_OTHER_VERSION: entry(422, "INVALID_ARGUMENT", {
    message: "manifest version validation failed",
    advice: "Send the manifest of the SDL that the deployment was last created or updated with.",
  }),
  AKP_MANIFEST_REJECTED: entry(422, "FAILED_PRECONDITION", {
    message: "manifest rejected: {reason}",
    advice: "This provider does not run it as it is. Change it or choose another provider.",
  }),
  // Consoles know this one by its words and the status of the Go provider.
  AKP_MANIFEST_HOST_REFUSED: entry(422, "FAILED_PRECONDITION", {
    message: "{reason}",
    advice: "Choose another host name, or ask whoever holds it to give it up.",
  }),
  AKP_DEPLOYMENT_UNKNOWN: entry(500, "NOT_FOUND", {
    message: "rpc error: code = NotFound desc = Deployment not found: key not found",
    advice: "Check owner and dseq: the chain has no such deployment.",
  }),
  AKP_NO_LEASE: entry(404, "NOT_FOUND", {
    message: "no lease for deployment",
    advice: "Accept a bid of this provider first, then send the manifest.",
  }),
  AKP_MANIFEST_BUSY: entry(429, "RESOURCE_EXHAUSTED", {
    message: "{waiting} requests about this deployment are being worked on already",
    advice: "Wait for the answers to those before sending more.",
  }),
} satisfies Errors;

export const pricingErrors = {
  AKP_POLICY_REFUSED: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "the policy file {source} is refused: {reason}",
    advice: "Correct what it names. It is read again by itself, and the last good policies stay in force.",
  }),
  AKP_POLICY_UNREADABLE: settingsEntry(503, "FAILED_PRECONDITION", {
    message: "the policy file {path} cannot be read: {reason}",
    advice: "Check the path, and that this user may read the file. It is looked at again by itself.",
  }),
} satisfies Errors;

export const gatewayErrors = {
  AKP_CERTIFICATE_FILE_UNUSABLE: settingsEntry(500, "FAILED_PRECONDITION", {
    message: "the certificate in {path} cannot be used: {reason}",
    advice:
      "The file holds a certificate of the account and its key, encrypted for that account, as the network's tools write it. Put the right one there, or take it away: another certificate is made.",
  }),
  AKP_ACME_UNREACHABLE: entry(503, "UNAVAILABLE", {
    message: "the certificate authority cannot be reached at {url}: {reason}",
    advice:
      "Look at --cert-issuer-ca-dir-url and at the way out of this machine. An authority of your own is believed when NODE_EXTRA_CA_CERTS names its certificate. It is tried again by itself.",
  }),
  AKP_ACME_REFUSED: entry(503, "FAILED_PRECONDITION", {
    message: "the certificate authority refused at {url}: {kind}: {reason}",
    advice:
      "rateLimited goes by itself. externalAccountRequired wants --cert-issuer-kid and AP_CERT_ISSUER_HMAC; unauthorized, an account that is in use. It is tried again by itself.",
  }),
  AKP_ACME_NO_CHALLENGE: settingsEntry(503, "FAILED_PRECONDITION", {
    message: "the certificate authority offers {offered} for {host}, and we answer {answered}",
    advice: "Set --cert-issuer-http-challenge-port or --cert-issuer-tls-challenge-port.",
  }),
  AKP_ACME_ORDER_FAILED: entry(503, "ABORTED", {
    message: "the order at the certificate authority came to nothing: {reason}",
    advice:
      "The name must lead to this machine, for http-01 its port 80 and for tls-alpn-01 its port 443, each forwarded to our port; and this machine's clock must be right. Another order is made by itself.",
  }),
  AKP_ACME_ORDER_LATE: entry(503, "UNAVAILABLE", {
    message: "the certificate authority has not finished our order within {minutes} minutes",
    advice: "It is asked again by itself, for the same order.",
  }),
  AKP_GATEWAY_TOKEN_UNUSABLE: entry(500, "FAILED_PRECONDITION", {
    message: "the metrics token file {path} does not hold a token of at least {leastChars} characters in one line",
    advice:
      "Put one there, like the output of `openssl rand -hex 32`. Until then all metrics but four are closed on the gateway.",
  }),
  AKP_GATEWAY_NO_CLUSTER: entry(503, "FAILED_PRECONDITION", {
    message: "this provider has no cluster",
    advice: "It sells nothing. Its operator turns that on with --cluster-k8s.",
  }),
  AKP_GATEWAY_BODY_TOO_LARGE: entry(413, "RESOURCE_EXHAUSTED", {
    message: "http: request body too large",
    advice: "What is sent to this route has at most {mostBytes} bytes.",
  }),
  AKP_GATEWAY_BODIES_TOO_MANY: entry(429, "RESOURCE_EXHAUSTED", {
    message: "unanswered requests hold too many bytes, of this address or of all",
    advice: "Send it again when others have been answered.",
  }),
  AKP_GATEWAY_CLIENT_GONE: entry(400, "ABORTED", {
    message: "the client went away before all of its request had come",
    advice: "Nothing: it will ask again if it wants to.",
  }),
  AKP_SHELL_NOT_RUNNING: entry(404, "UNAVAILABLE", {
    message: "service with that name is not running",
    advice: "Ask for the status of the lease: it says what keeps the service from running.",
  }),
  AKP_SHELL_NO_POD: entry(404, "NOT_FOUND", {
    message: "pod index out of range: valid range is [0, {last}]",
    advice: "Replicas are counted from 0, in the order of the names of their pods.",
  }),
  AKP_SHELL_NO_SUCH_COMMAND: entry(404, "NOT_FOUND", {
    message: "command could not be executed because it does not exist",
    advice: "Name a program that is in the service's image; many images have /bin/sh, some have none at all.",
  }),
  AKP_SHELL_NOT_STARTED: entry(500, "FAILED_PRECONDITION", {
    message: "command execution failed",
    advice: "What is named must be a program that may be executed, not a folder or a text.",
  }),
  AKP_STREAMS_TOO_MANY: entry(429, "RESOURCE_EXHAUSTED", {
    message: "there are too many open streams {whose}",
    advice: "Close some of the logs, events and shells that are open, then try again.",
  }),
  AKP_STREAM_CREDENTIALS_OVER: entry(401, "UNAUTHENTICATED", {
    message: "the credentials of this stream are no longer good: {reason}",
    advice: "Ask again with a new token, or with a certificate that is on the chain.",
  }),
  AKP_STREAM_LEASE_CLOSED: entry(404, "NOT_FOUND", {
    message: "the lease is closed",
    advice: "Nothing runs for it any more.",
  }),
  AKP_STREAM_STOPPING: entry(503, "UNAVAILABLE", {
    message: "the provider stops",
    advice: "Ask again in a moment: it is being restarted, most often.",
  }),
  AKP_STREAM_TOO_SLOW: entry(408, "RESOURCE_EXHAUSTED", {
    message: "the reader of a stream took too little of it for too long",
    advice: "Read faster, or ask for less of it with `tail` or `service`.",
  }),
  AKP_STREAM_INPUT_EXCESS: entry(429, "RESOURCE_EXHAUSTED", {
    message: "the client of a stream sent too many {what}",
    advice: "Send larger frames, each in one piece, and no more than the command reads.",
  }),
  AKP_STREAM_CLIENT_GONE: entry(400, "ABORTED", {
    message: "the reader of a stream went away",
    advice: "Nothing: it will ask again if it wants to.",
  }),
} satisfies Errors;

export const tenantErrors = {
  AKP_SDL_REFUSED: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "{path} is not a deployment that can be posted:\n{list}",
    advice: "Correct it and give the command again.",
  }),
  AKP_NO_OPEN_BID: entry(404, "NOT_FOUND", {
    message: "no provider has an open bid on {order}",
    advice: "Wait for one (`akash-provider events` shows them), or name another order with --dseq, --gseq and --oseq.",
  }),
  AKP_NO_ACTIVE_LEASE: entry(404, "NOT_FOUND", {
    message: "{deployment} has no active lease",
    advice: "Take a bid first (`akash-provider tenant lease`), or name another deployment with --dseq.",
  }),
  AKP_CERTIFICATE_MISSING: settingsEntry(404, "NOT_FOUND", {
    message: "there is no certificate in {path}",
    advice:
      "Make one and put it on the chain (`provider-services tx cert generate client`, then `publish client`), or leave out --auth-type mtls.",
  }),
  AKP_PROVIDER_UNKNOWN: entry(404, "NOT_FOUND", {
    message: "the chain has no provider {provider}",
    advice: "Check --provider, and that --node is of the right chain; or say where it is with --provider-url.",
  }),
  AKP_PROVIDER_UNREACHABLE: entry(503, "UNAVAILABLE", {
    message: "the provider at {url} cannot be reached: {reason}",
    advice: "Check that it is up and that its address is right; --provider-url says another one.",
  }),
  AKP_PROVIDER_UNPROVEN: entry(502, "UNAUTHENTICATED", {
    message: "the server at {url} has not proved that it is the provider: {reason}",
    advice:
      "Nothing was sent to it. Ask the provider to renew its certificate; if the address is not its own, do not use it.",
  }),
  // The network's CLI writes it so, and scripts look for it.
  AKP_PROVIDER_REFUSED: entry(502, "FAILED_PRECONDITION", {
    message: "{method} {url} was answered with {status}\nprovider error messsage:\n{body}",
    advice: "What to do is in what the provider says.",
  }),
  AKP_PROVIDER_ANSWER_UNREADABLE: entry(502, "FAILED_PRECONDITION", {
    message: "what the provider answered is not JSON: {reason}",
    advice: "Check that its address is that of a provider; --provider-url says another one.",
  }),
  AKP_PROVIDER_STREAM_ENDED: entry(502, "ABORTED", {
    message: "the provider ended what it showed: {reason}",
    advice: "What was shown may not be all. Give the command again; `lease-status` says how the lease is doing.",
  }),
  // The network's CLI writes it so, and scripts look for it.
  AKP_LEASE_SHELL_FAILED: entry(502, "FAILED_PRECONDITION", {
    message: "lease shell failed: {reason}",
    advice: "Check the name of the service and the command; `lease-status` says what runs.",
  }),
  AKP_MANIFEST_NOT_SENT: entry(502, "FAILED_PRECONDITION", {
    message: "submit manifest to some providers has been failed",
    advice: "The output says which, and what each of them has against it. Sending it again does no harm.",
  }),
  // Tenants' tools look for these words.
  AKP_HOSTNAME_NOT_ALLOWED: entry(400, "FAILED_PRECONDITION", {
    message: "hostname not allowed: {reason}",
    advice: "Choose another host name, or have whoever holds it give it up.",
  }),
  AKP_HOSTNAME_WAITS: entry(409, "FAILED_PRECONDITION", {
    message: "observation stopped: {reason}",
    advice: "Nothing is to be done: the host name is served as soon as that is there.",
  }),
  AKP_DESTINATION_UNKNOWN: entry(400, "NOT_FOUND", {
    message: "destination deployment does not exist",
    advice: "Name a deployment of yours that has a running lease with this provider, and send it a manifest first.",
  }),
  AKP_MIGRATION_TOO_LONG: entry(400, "INVALID_ARGUMENT", {
    message: "more than {most} names are to be moved at once",
    advice: "Ask for them in several requests.",
  }),
  AKP_MIGRATION_BUSY: entry(429, "RESOURCE_EXHAUSTED", {
    message: "{waiting} requests of yours to move something are being worked on already",
    advice: "Wait for the answers to those before sending more.",
  }),
  AKP_HOSTNAME_UNUSED: entry(400, "INVALID_ARGUMENT", {
    message: "the hostname {host} is not used by this deployment",
    advice: "Send the deployment that is to have it a manifest which names it, and ask again.",
  }),
  AKP_ADDRESS_IN_USE: entry(409, "ALREADY_EXISTS", {
    message: "{name} belongs to another lease",
    advice: "Have the lease that has it moved or closed, or use another port or endpoint.",
  }),
  AKP_ENDPOINT_UNUSED: entry(400, "INVALID_ARGUMENT", {
    message: "the endpoint {endpoint} does not exist in the destination deployment",
    advice: "Send the deployment that is to have it a manifest which names it, and ask again.",
  }),
} satisfies Errors;
