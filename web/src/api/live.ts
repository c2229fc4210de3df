/** One event stream for all tabs of a browser: the tab that holds the lock reads it, and broadcasts to the others.
 *
 * HTTP/1.1 has six connections for each browser and server, so a stream in every tab would block the seventh tab. */
import type { QueryClient } from "@tanstack/react-query";
import { isStale, type LiveEvent, type Stale, staleAfter } from "../model/liveKeys";
import { ServerMessageReader } from "../model/sse";
import { apiAddress } from "./address";
import { readLines } from "./lines";
import { readError } from "./problems";

export type Connection = "connecting" | "live" | "lost" | "signed out";

interface Message {
  connection?: Connection;
  events?: LiveEvent[];
  dropped?: number;
}

const BATCH_MS = 250;
const BATCH_EVENTS_MAX = 500;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 10_000;
const SETTLE_MS = 1500;

export class Live {
  connection: Connection = "connecting";
  /** When the last event came. */
  heardAt = 0;
  private listeners = new Set<() => void>();
  private eventListeners = new Set<(events: LiveEvent[]) => void>();
  private channel = new BroadcastChannel(`shunter-live:${apiAddress("")}`);
  private abort = new AbortController();
  private pending: LiveEvent[] = [];
  private lastId = "";
  private settle: ReturnType<typeof setTimeout> | undefined;
  private unsettled: Stale[] = [];

  constructor(private queries: QueryClient) {
    this.channel.onmessage = (message: MessageEvent<Message | "who">) => {
      if (message.data === "who") this.greet();
      else this.receive(message.data);
    };
    this.channel.postMessage("who");
    void navigator.locks
      .request(`shunter-live:${apiAddress("")}`, { signal: this.abort.signal }, () => this.lead())
      .catch(() => undefined);
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  onEvents(listener: (events: LiveEvent[]) => void): () => void {
    this.eventListeners.add(listener);
    return () => this.eventListeners.delete(listener);
  }

  close(): void {
    this.abort.abort();
    this.channel.close();
  }

  private isLeading = false;

  private greet(): void {
    if (this.isLeading) this.channel.postMessage({ connection: this.connection } satisfies Message);
  }

  private async lead(): Promise<void> {
    this.isLeading = true;
    const timer = setInterval(() => this.flush(), BATCH_MS);
    let wait = RETRY_MIN_MS;
    while (!this.abort.signal.aborted) {
      try {
        await this.read(() => {
          wait = RETRY_MIN_MS;
        });
      } catch {
        // The state below says that the stream ended; the loop opens the next one.
      }
      if (this.abort.signal.aborted) break;
      if (this.connection !== "signed out") this.announce({ connection: "lost" });
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, RETRY_MAX_MS);
    }
    clearInterval(timer);
  }

  private async read(onOpen: () => void): Promise<void> {
    const address = apiAddress("/events", { follow: "true", after: this.lastId || undefined });
    const response = await fetch(address, { credentials: "same-origin", signal: this.abort.signal });
    if (response.status === 401) return this.announce({ connection: "signed out" });
    if (response.status === 404 || response.status === 410) this.lastId = "";
    if (!response.ok) throw await readError(response);
    onOpen();
    const wasLost = this.connection === "lost" || this.connection === "signed out";
    this.announce({ connection: "live" });
    if (wasLost) void this.queries.invalidateQueries();
    const reader = new ServerMessageReader();
    for await (const line of readLines(response)) {
      const message = reader.push(line);
      if (message?.id) this.lastId = message.id;
      if (message?.data) this.pending.push(JSON.parse(message.data));
    }
  }

  private flush(): void {
    if (this.pending.length === 0) return;
    const events = this.pending.splice(0);
    this.announce({ events: events.slice(-BATCH_EVENTS_MAX), dropped: Math.max(0, events.length - BATCH_EVENTS_MAX) });
  }

  private announce(message: Message): void {
    this.channel.postMessage(message);
    this.receive(message);
  }

  private receive(message: Message): void {
    if (message.connection && message.connection !== this.connection) {
      this.connection = message.connection;
      for (const listener of this.listeners) listener();
    }
    if (message.events) this.refresh(message.events, message.dropped ?? 0);
  }

  /** Reads again what is on the screen, and once more when it is quiet: a read that was under way may be old. */
  private refresh(events: LiveEvent[], dropped: number): void {
    this.heardAt = Date.now();
    const stale = staleAfter(events);
    if (dropped) void this.queries.invalidateQueries({}, { cancelRefetch: false });
    else this.invalidate([stale]);
    for (const listener of this.eventListeners) listener(events);
    this.unsettled.push(stale);
    clearTimeout(this.settle);
    this.settle = setTimeout(() => this.invalidate(this.unsettled.splice(0)), SETTLE_MS);
  }

  private invalidate(stale: Stale[]): void {
    const predicate = ({ queryKey }: { queryKey: readonly unknown[] }) => stale.some((each) => isStale(queryKey, each));
    void this.queries.invalidateQueries({ predicate }, { cancelRefetch: false });
  }
}
