// A cache bounded by bytes: what was used longest ago goes first.

export class Lru<T> {
  private entries = new Map<string, { value: T; bytes: number }>();
  private total = 0;

  constructor(private readonly limit: number) {}

  get(key: string): T | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: T, bytes: number): void {
    this.total += bytes - (this.entries.get(key)?.bytes ?? 0);
    this.entries.delete(key);
    this.entries.set(key, { value, bytes });
    for (const [oldest, entry] of this.entries) {
      if (this.total <= this.limit || oldest === key) break;
      this.entries.delete(oldest);
      this.total -= entry.bytes;
    }
  }

  get size(): number {
    return this.entries.size;
  }
}
