// Creates elements of the page without markup, so that a text stays a text.

/** Creates an element with these attributes and children. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string>,
  children: readonly (Node | string)[] = [],
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  made.append(...children)
  return made
}

/** Returns the element of the page with this id, which must exist. */
export function byId(id: string): HTMLElement {
  return document.getElementById(id)!
}
