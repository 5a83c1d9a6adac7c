// The maximum lengths of the texts of messages and threads, in code points. The schemas of the
// interface declare them, the shell checks some of them before it sends anything, and tables derive
// the room that they need.

export const titleCharactersMax = 160
export const contentCharactersMax = 8000
/** Of a message, where a list shows only a part of it. */
export const excerptCharactersMax = 240
/** The number of tags of a thread, and the length of each. */
export const tagsMax = 8
export const tagCharactersMax = 40
