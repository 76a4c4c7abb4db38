-- The identity of the cluster that this schema lives in.
--
-- Transaction ids and snapshots mean something in one cluster alone. In a copy that was made row by row, by pg_dump or by logical
-- replication, every one that is stored is another cluster's. A message sent there gets an id that a cursor may have long passed:
-- nobody would ever receive it. So nothing is sent or received in such a copy before repair() has been called.
--
-- The identity is a row that knows the transaction that wrote it and the oid of its table. What copies rows writes them anew, with a
-- transaction and into a table of its own, so the copy of the identity is wrong. What copies blocks (a standby, a base backup, a
-- storage snapshot, CREATE DATABASE) keeps the transaction ids, and the identity stays right. pg_upgrade, and whatever makes a logical
-- replica out of a copy of blocks, gives the cluster a new system identifier: that counts as another cluster too, although after
-- pg_upgrade alone the ids are right and repair() has nothing to put right.
create table cluster_identity (
  singleton boolean primary key default true check (singleton),
  row_xmin xid,
  row_tableoid oid,
  -- null: this server does not say
  system_identifier bigint
);

comment on table cluster_identity is 'Says in which cluster the stored transaction ids mean something: one row.';

-- The cluster's identifier; null where a provider does not let one read it. A standby has that of its primary.
create function own_system_identifier() returns bigint
language plpgsql
stable
set search_path from current
as $$
begin
  return (select c.system_identifier from pg_control_system() c);
exception
  when others then
    return null;
end
$$;

-- Makes this schema the running cluster's. In one function, because a row has the id of the subtransaction that writes it, and each
-- statement of an installer may have one of its own. The update writes the row in the same one as the insert, whose xmin it reads.
create function mark_cluster() returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  delete from cluster_identity;
  insert into cluster_identity default values;
  update cluster_identity k
     set row_xmin = k.xmin,
         row_tableoid = k.tableoid,
         system_identifier = own_system_identifier();
end
$$;

select mark_cluster();

-- Whether the running cluster has written the identity.
create function is_same_cluster() returns boolean
language sql
volatile
set search_path from current
begin atomic
  select exists (
    select from cluster_identity k
     where k.row_xmin = k.xmin
       and k.row_tableoid = k.tableoid
       and (k.system_identifier = own_system_identifier()) is not false
  );
end;

-- The same for whoever must not spend time on it. IMMUTABLE, which it is not: so the planner calls it, once for each place and session,
-- and what runs afterwards is a constant. A session's schema does not become another cluster's, and where this said true, require_same_cluster
-- looks again.
create function cluster_changed() returns boolean
language sql
immutable
set search_path from current
return not is_same_cluster();

-- Refuses to work on what another cluster has written.
create function require_same_cluster() returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  if cluster_changed() and not is_same_cluster() then
    raise exception using
      errcode = 'PQ007',
      message = format('expected the messages in schema %s to be this cluster''s, found those of another: they were restored, replicated or upgraded', quote_ident(current_schema())),
      hint = format('With senders and workers stopped, call %I.repair() as the owner of the schema: it loses nothing and brings nothing back that was settled.', current_schema());
  end if;
end
$$;
