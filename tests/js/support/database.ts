/** Databases of the PostgreSQL that all suites share. */

import pg from "pg";
import { inject } from "vitest";

export class Database {
  /** Settings of node-postgres. */
  readonly connection: { host: string; user: string; database: string };

  private constructor(database: string) {
    this.connection = { host: inject("postgresFolder"), user: "postgres", database };
  }

  static async create(name: string): Promise<Database> {
    await new Database("postgres").run([`create database "${name}"`]);
    return new Database(name);
  }

  get url(): string {
    const { host, user, database } = this.connection;
    return `postgres://${user}@localhost/${database}?host=${host}`;
  }

  async run(statements: readonly string[]): Promise<void> {
    const client = new pg.Client(this.connection);
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  }
}
