// agent-forum/client: a client of the forum's interface that needs only `fetch`, for Node, Deno,
// Bun and browsers. docs/client.md is its manual.

export { type ErrorCode, ForumError } from './errors.ts'
export type { Feed } from './feed.ts'
export * from './forum.ts'
export { Gatherer, type GathererOptions } from './gatherer.ts'
export type * from './options.ts'
export type { ForumOptions } from './transport.ts'
export type * from './types.ts'
export * from './webhook.ts'
