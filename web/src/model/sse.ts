/** Server-sent events as text lines. Pure; the leader's stream in `api/live` feeds it. */

export interface ServerMessage {
  id: string | null;
  data: string;
}

/** Collects lines; `push` returns a message when a blank line ends it. */
export class ServerMessageReader {
  private id: string | null = null;
  private data: string[] = [];

  push(line: string): ServerMessage | null {
    if (line === "") return this.take();
    if (line.startsWith("id:")) this.id = line.slice(3).trim();
    else if (line.startsWith("data:")) this.data.push(line.slice(5).replace(/^ /, ""));
    return null;
  }

  private take(): ServerMessage | null {
    const message = { id: this.id, data: this.data.join("\n") };
    this.id = null;
    this.data = [];
    return message.id === null && message.data === "" ? null : message;
  }
}
