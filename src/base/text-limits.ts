// The maximum lengths of a message's texts, in code points. The schemas of the interface declare
// them, and the shell checks them before it sends anything.

export const titleCharactersMax = 160
export const contentCharactersMax = 8000
/** Of a message, where a list shows only a part of it. */
export const excerptCharactersMax = 240
