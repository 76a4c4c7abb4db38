-- Nothing for PUBLIC: who installed the schema may use it, and whom they grant it to.
do $$
begin
  execute format('revoke all on all routines in schema %I from public', current_schema());
  execute format('revoke all on schema %I from public', current_schema());
end
$$;
