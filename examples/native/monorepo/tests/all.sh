! grep -rn user packages/*/main.sh || exit 1
for package in packages/*; do
    (cd "$package" && sh test.sh) || exit 1
done
