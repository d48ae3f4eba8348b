-- Three ways to have PostgreSQL refuse a holder that comes late. Tokens are numbers of 16 digits: bigint.

-- 1. A column in the row that is locked, and a condition in each statement: see stock.repository.ts.
CREATE TABLE stock (
  sku      text    PRIMARY KEY,
  quantity integer NOT NULL,
  fence    bigint  NOT NULL DEFAULT 0
);

-- 2. The largest token of each key, in a table of its own: for transactions that touch several rows or tables, insert
-- or delete. Called first in a transaction, pass_fence keeps all later ones of the same key out until it has ended.
CREATE TABLE lock_fences (
  key   text   PRIMARY KEY,
  fence bigint NOT NULL
);

CREATE FUNCTION pass_fence(lock_key text, token bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO lock_fences AS last VALUES (lock_key, token)
    ON CONFLICT (key) DO UPDATE SET fence = EXCLUDED.fence WHERE last.fence <= EXCLUDED.fence;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'stale fencing token % for %', token, lock_key USING ERRCODE = 'LF001';
  END IF;
END $$;

CREATE TABLE accounts (
  id      text    PRIMARY KEY,
  balance integer NOT NULL
);

CREATE TABLE transfers (
  sender   text    NOT NULL REFERENCES accounts,
  receiver text    NOT NULL REFERENCES accounts,
  amount   integer NOT NULL
);

-- 3. A trigger, for statements that others write, such as an ORM: it takes the token from a setting of the transaction,
-- set_config('locks.fencing_token', …, true), and refuses writes without one.
CREATE FUNCTION refuse_stale_write() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  token bigint := nullif(current_setting('locks.fencing_token', true), '');
BEGIN
  IF token IS NULL THEN
    RAISE EXCEPTION 'no fencing token for %', TG_TABLE_NAME USING ERRCODE = 'LF002';
  END IF;
  IF TG_OP <> 'INSERT' AND token < OLD.fence THEN
    RAISE EXCEPTION 'stale fencing token % for %', token, TG_TABLE_NAME USING ERRCODE = 'LF001';
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  NEW.fence := token;
  RETURN NEW;
END $$;

CREATE TABLE prices (
  sku   text    PRIMARY KEY,
  cents integer NOT NULL,
  fence bigint  NOT NULL
);

CREATE TRIGGER refuse_stale_write BEFORE INSERT OR UPDATE OR DELETE ON prices
  FOR EACH ROW EXECUTE FUNCTION refuse_stale_write();
