// The longest texts of a message, in code points: the schemas of the interface declare them, and
// the shell checks them before it sends anything.

export const titleCharactersMax = 160
export const contentCharactersMax = 8000
