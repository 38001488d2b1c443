/** What the node itself rejects, before or beside the application; the message is worded as CometBFT words it. */
export class NodeError extends Error {
  override readonly name = "NodeError";
}
