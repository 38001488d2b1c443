/** What the node itself refuses, before or beside the application; the message is worded as CometBFT words it. */
export class NodeRefusal extends Error {
  override readonly name = "NodeRefusal";
}
