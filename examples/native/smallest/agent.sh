# An agent reads its prompt from stdin and changes files in the folder in which it was started.
cat > /dev/null
echo 'Hello, world!' > hello.txt
