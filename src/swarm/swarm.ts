export async function runSwarm(_: string[]): Promise<number> {
  return 0
}
