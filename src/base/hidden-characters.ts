// Characters in untrusted text that must not affect how it is displayed.

/**
 * Characters that reorder others or are invisible: control characters except tab and line ends,
 * bidirectional marks and isolates, annotation characters, and those that Unicode has programs
 * ignore: soft hyphens, fillers, variation selectors, and tags, which can spell invisible words.
 * Joiners are not among them, because scripts and emoji need them.
 */
export const hidden =
  /(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/u

/** Directly after an emoji, this selector determines how the emoji looks, and hides nothing. */
export const emojiSelector = 0xfe0f

/** Returns the text displayed in place of a hidden character: `[U+202E]`. */
export const codeOf = (point: number) => `[U+${point.toString(16).toUpperCase().padStart(4, '0')}]`
