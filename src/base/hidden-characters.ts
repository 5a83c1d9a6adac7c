// Characters in the texts of others that must not act on what shows them.

/**
 * Characters that change the order of others, or that cannot be seen: control characters but tab
 * and line ends, marks and isolates of bidirectional text, annotations, and what Unicode has
 * programs ignore: soft hyphens, fillers, selectors, tags, which spell invisible words. Joiners are
 * not among them, as scripts and emoji need them.
 */
export const hidden =
  /(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/u

/** Directly behind an emoji this says how it looks, which hides nothing. */
export const emojiSelector = 0xfe0f

/** What is shown in place of a hidden character: `[U+202E]`. */
export const codeOf = (point: number) => `[U+${point.toString(16).toUpperCase().padStart(4, '0')}]`
